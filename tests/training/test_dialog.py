"""A run of dialogues: scores, answers, a chat, and what there is not yet."""

import json

import pytest
from click.testing import CliRunner
from cut_runs import assert_same_results, keep_at

from tf_adapt.commands.main import cli
from tf_adapt.config.reading import config_from
from tf_adapt.data.catalogue import SAMPLE_FOLDER
from tf_adapt.data.formats.dialogues import Exchange, read_dialogue_objects
from tf_adapt.errors import ConfigError, DataError
from tf_adapt.generation.decoding import Decoding
from tf_adapt.runs.prediction_files import read_predictions
from tf_adapt.statistics.scores import item_statistics, score_of
from tf_adapt.training.by_kind.nearest_reply import tfidf_hits
from tf_adapt.training.finished.chat import chat_of_run
from tf_adapt.training.finished.run_export import export_run
from tf_adapt.training.finished.trained_run import evaluate_file, predict_file
from tf_adapt.training.train import train

pytestmark = pytest.mark.slow
DEV = SAMPLE_FOLDER / "dialog" / "dev.jsonl"


def content_of(handle) -> dict:
    return {
        "data": {"dataset": "sample_dialog", "source": "sample", "train_examples": 8},
        "encoder": {"handle": str(handle)},
        "adaptation": "fine_tuning",
        "training": {"epochs": 2, "batch_size": 6, "learning_rate": 3e-3, "accumulate_steps": 2},
    }


@pytest.fixture(scope="module")
def run(shallow_causal, tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "run"
    with pytest.MonkeyPatch.context() as patch:
        keep_at(patch, 5, folder.with_name("cut"))
        metrics = train(config_from(content_of(shallow_causal), "test"), folder)
    return folder, metrics


def test_a_run_that_was_cut_ends_with_the_same_bits(run, shallow_causal):
    cut = run[0].with_name("cut")
    train(config_from(content_of(shallow_causal), "test"), cut)
    assert_same_results(cut, run[0])


def test_scores_of_a_run_and_of_its_file(run):
    folder, metrics = run
    assert "24 examples of 72" in metrics["splits"]["train"]
    dev = metrics["dev"]
    assert dev["perplexity"] < 300
    assert 0 <= dev["hits_at_1_of_20"] <= 1
    assert {
        "f1",
        "distinct_1",
        "distinct_2",
        "tfidf_hits_at_1_of_20",
        "hits_at_1_of_4",
    } <= dev.keys()
    scores = evaluate_file(folder, DEV)
    for name in ("log_probability", "perplexity", "hits_at_1_of_20", "f1", "hits_at_1_of_4"):
        assert scores[name] == pytest.approx(dev[name], rel=1e-4), name


def test_the_answers_of_a_run_have_its_scores(run):
    folder, metrics = run
    said = read_predictions(folder, "dev", "dialog")
    gold = [exchange.reply for exchange in read_dialogue_objects(DEV)]
    for name in ("log_probability", "hits_at_1_of_4"):
        sums = item_statistics(name, said, gold).sum(0)
        assert score_of(name, sums) == pytest.approx(metrics["dev"][name], rel=1e-4), name


def test_the_nearest_reply_by_words():
    said = [
        Exchange(("i keep bees",), ("bees ?",), "my bees make honey", ("no", "so", "well"), "1", 1),
        Exchange(("x y",), ("hello",), "good day", ("hello you", "so", "well"), "2", 2),
        Exchange(("x y",), ("what",), "yes", ("no", "so", "well"), "3", 3),
    ]
    # Right; wrong; no word in common with any of six.
    assert tfidf_hits(said) == pytest.approx((1 + 0 + 1 / 6) / 3)


def test_a_reply_for_each_exchange(run, tmp_path):
    given = tmp_path / "given.jsonl"
    dialogue = {"persona": ["i sing ."], "turns": ["hello", "hi", "how are you ?"]}
    given.write_text(json.dumps(dialogue) + "\n")
    assert predict_file(run[0], given, tmp_path / "out.tsv", with_input=True) == 2
    lines = (tmp_path / "out.tsv").read_text("utf-8").splitlines()
    assert lines[0] == "shown\tprediction"
    assert [line.split("\t")[0] for line in lines[1:]] == ["hello", "how are you ?"]
    written = (run[0] / "predictions" / "dev.tsv").read_text("utf-8").splitlines()
    assert len(written) == 1 + 24


def test_an_export_replies_as_its_run(run, tmp_path):
    export = export_run(run[0], tmp_path / "export")
    for folder, name in ((run[0], "run.tsv"), (export, "export.tsv")):
        predict_file(folder, DEV, tmp_path / name)
    replies = (tmp_path / "export.tsv").read_text("utf-8")
    assert replies == (tmp_path / "run.tsv").read_text("utf-8")
    scores = evaluate_file(export, DEV)
    assert scores["equal_replies"] == 1 - len(set(replies.splitlines()[1:])) / 24
    assert {"f1", "distinct_1", "distinct_2"} <= scores.keys()
    card = (export / "README.md").read_text("utf-8")
    assert 'persona=tf.constant([["i keep bees ."]]), history=' in card
    assert f"| dev | perplexity | {run[1]['dev']['perplexity']:.4f} |" in card


def test_a_chat_through_a_pipe(run):
    command = ["chat", str(run[0]), "--temperature", "0"]
    result = CliRunner().invoke(cli, command, input="hello\n\nwhat do you do ?\n")
    assert result.exit_code == 0, result.output
    kept = json.loads(DEV.read_text("utf-8").splitlines()[0])["persona"]
    assert result.stderr == f"persona: {' '.join(kept)}\n"
    lines = result.stdout.splitlines()
    assert len(lines) == 3 and lines[0] and not lines[1] and lines[2]
    talk, persona = chat_of_run(run[0], ["i sing ."], Decoding(5))
    assert persona == ["i sing ."]
    with pytest.raises(DataError, match="chat: expected persona and last turn of at most 216 tok"):
        talk.reply("the " * 300)
    with pytest.raises(ConfigError, match="max_new_tokens: expected at most 40"):
        chat_of_run(run[0], (), Decoding(50))


def test_what_does_not_fit_dialogues(shallow_causal, tmp_path):
    for changes, message in (
        ({"head": "linear"}, "expected default for dialog"),
        ({"adaptation": "feature_extraction"}, "expected one that trains the encoder for dialog"),
        ({"encoder": {"handle": "bert_small"}}, "need a causal module that runs natively"),
    ):
        with pytest.raises(ConfigError, match=message):
            train(config_from(content_of(shallow_causal) | changes, "test"), tmp_path / "run")
