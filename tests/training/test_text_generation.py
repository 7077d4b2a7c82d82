"""A run that learns to write: scores, texts, the same bits after a cut, an export, refusals."""

import json

import numpy as np
import pytest
from cut_runs import assert_same_results, keep_at

from tf_adapt.config.reading import config_from
from tf_adapt.errors import ConfigError, DataError
from tf_adapt.runs.prediction_files import read_predictions
from tf_adapt.runs.run_folder import read_history
from tf_adapt.serving.prediction.predict import predict
from tf_adapt.statistics.scores import item_statistics, score_of
from tf_adapt.tasks.by_kind.text_generation import bleu_signature, overlaps
from tf_adapt.training.finished.load_run import load_run
from tf_adapt.training.finished.run_export import export_run
from tf_adapt.training.finished.trained_run import evaluate_file, predict_file
from tf_adapt.training.train import train

WORDS = ["the dog", "a cat", "in then", "this mat", "one hat", "no end"]


@pytest.fixture(scope="module")
def content(shallow_bert, shallow_causal, tmp_path_factory) -> dict:
    folder = tmp_path_factory.mktemp("data")
    for split, count in (("train", 10), ("dev", 4)):
        rows = [f"{WORDS[n % 6]} {split} {n}\tthe {WORDS[n % 5]}\n" for n in range(count)]
        (folder / f"{split}.tsv").write_text("source\ttarget\n" + "".join(rows))
    return {
        "data": {
            "format": "tsv",
            "kind": "text_generation",
            "train": str(folder / "train.tsv"),
            "dev": str(folder / "dev.tsv"),
            "metric": "rougeL",
        },
        "encoder": {"handle": str(shallow_bert), "decoder": str(shallow_causal)},
        "generation": {"label_smoothing": 0.1, "language_model_weight": 0.5},
        "adaptation": {"name": "gradual_unfreezing", "every": 1},
        "training": {"epochs": 2, "batch_size": 4, "learning_rate": 3e-3},
    }


@pytest.fixture(scope="module")
def run(content, tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "run"
    with pytest.MonkeyPatch.context() as patch:
        keep_at(patch, 4, folder.with_name("cut"))
        metrics = train(config_from(content, "test"), folder)
    return folder, metrics


@pytest.mark.slow
def test_a_run_that_was_cut_ends_with_the_same_bits(run, content):
    cut = run[0].with_name("cut")
    train(config_from(content, "test"), cut)
    assert_same_results(cut, run[0])


@pytest.mark.slow
def test_scores_of_a_run_and_of_its_file(run, content):
    folder, metrics = run
    names = {
        "log_probability",
        "perplexity",
        *overlaps(["a"], ["a"]),
        "distinct_1",
        "distinct_2",
        "equal_texts",
    }
    assert names <= metrics["dev"].keys()
    assert metrics["bleu_signature"] == bleu_signature()
    scores = evaluate_file(folder, content["data"]["dev"])
    assert {n: scores[n] for n in names} == pytest.approx({n: metrics["dev"][n] for n in names})
    said = read_predictions(folder, "dev", "text_generation")
    gold = [f"the {WORDS[number % 5]}" for number in range(4)]
    for name in ("log_probability", "rouge1", "rougeL"):
        found = score_of(name, item_statistics(name, said, gold).sum(0))
        assert found == pytest.approx(scores[name], rel=1e-5), name
    assert metrics["metric"] == "rougeL"
    chosen = [float(row["dev_rougeL"]) for row in read_history(folder)]
    assert metrics["best_epoch"] == 1 + int(np.argmax(chosen))


@pytest.mark.slow
def test_a_text_for_each_source(run, tmp_path):
    given = tmp_path / "given.txt"
    given.write_text("the dog\na cat on the mat\n")
    assert predict_file(run[0], given, tmp_path / "out.tsv") == 2
    written = (tmp_path / "out.tsv").read_text("utf-8")
    assert len(written.splitlines()) == 3
    # Nothing is known of texts that were not given.
    assert [said.scores for said in predict(load_run(run[0]), ["the dog"])] == [()]
    export = export_run(run[0], tmp_path / "export")
    predict_file(export, given, tmp_path / "again.tsv")
    assert (tmp_path / "again.tsv").read_text("utf-8") == written


def refused(content: dict, message: str, **changes) -> None:
    with pytest.raises(ConfigError, match=message):
        config_from(content | changes, "test")


def test_what_configs_may_not_have(content):
    module = content["encoder"]["handle"]
    missing = "encoder.decoder: expected a causal module.*lm_small or a GPT-2"
    refused(content, missing, encoder={"handle": module})
    refused(content, "head_pooling: not supported for kind: text_generation", head_pooling="mean")
    data = content["data"] | {"format": "squad", "columns": {"text_a": "source"}}
    refused(content, "columns.text_a: expected null with data.format: squad", data=data)
    labels = content["data"] | {"kind": "classification", "columns": {"text": "a", "label": "b"}}
    refused(content, "encoder.decoder: expected null for classification", data=labels)


def test_a_question_to_ask_without_an_answer(content, tmp_path):
    qas = [{"id": "1", "question": "Who?", "is_impossible": True, "answers": []}]
    squad = {"data": [{"paragraphs": [{"context": "Ann is in.", "qas": qas}]}]}
    path = tmp_path / "squad.json"
    path.write_text(json.dumps(squad))
    data = {"format": "squad", "kind": "text_generation", "train": str(path)}
    with pytest.raises(DataError, match="question 1: expected an answer to ask for"):
        train(config_from(content | {"data": data}, "test"), tmp_path / "run")


def test_overlaps_by_hand():
    """ROUGE-1 of "the cat sat" and "the cat": precision 2/3, recall 1, F1 4/5."""
    found = overlaps(["the cat sat", "a b c d"], ["the cat", "a b c d"])
    assert found["rouge1"] == pytest.approx((4 / 5 + 1) / 2)
    assert found["rouge2"] == pytest.approx((2 / 3 + 1) / 2)
    assert overlaps(["a b c d e"], ["a b c d e"])["bleu"] == pytest.approx(100)
