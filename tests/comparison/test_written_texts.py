"""Comparisons of kinds that write texts: scores, items, simple models, and what is refused."""

import json
import math
from collections import Counter

import finished_runs
import numpy as np
import pytest
import yaml
from click.testing import CliRunner
from rouge_score.rouge_scorer import RougeScorer
from sklearn.feature_extraction.text import TfidfVectorizer

from tf_adapt.commands.main import cli
from tf_adapt.comparison.baseline import baseline_of
from tf_adapt.comparison.baselines import references, word_frequencies
from tf_adapt.comparison.budget.checks import check_budget
from tf_adapt.comparison.by_kind.written_texts import by_bytes, byte_counts
from tf_adapt.comparison.execution.outcomes import Outcomes
from tf_adapt.comparison.kinds import KINDS as WRITTEN
from tf_adapt.comparison.plan.settings import comparison_from
from tf_adapt.comparison.results import results
from tf_adapt.comparison.verdict.interim_analyses import analyses_at
from tf_adapt.data.catalogue import SAMPLE_FOLDER
from tf_adapt.data.formats import Record
from tf_adapt.data.splits.read_splits import load_splits
from tf_adapt.errors import ArtifactError, ConfigError
from tf_adapt.runs import run_folder
from tf_adapt.runs.prediction_files import read_predictions, write_predictions
from tf_adapt.statistics.scores import item_statistics, of_groups, pseudo_values, score_of
from tf_adapt.training.by_kind.nearest_reply import nearest_of, tfidf_hits

WORDS = ["the dog", "a cat", "in then", "this mat", "one hat", "no end of it"]
KINDS = ["dialog", "text_generation"]


@pytest.fixture
def content(shallow_bert, shallow_causal, tmp_path) -> dict:
    """By kind the config of a comparison of a pretrained and an untrained network."""
    for split, count in (("train", 6), ("dev", 4), ("test", 60)):
        rows = [f"{WORDS[n % 6]} {split} {n}\t{WORDS[n % 5]} {n}\t{n // 2}\n" for n in range(count)]
        (tmp_path / f"{split}.tsv").write_text("source\ttarget\tgroup\n" + "".join(rows))
    files = {split: str(tmp_path / f"{split}.tsv") for split in ("train", "dev", "test")}
    columns = {"text_a": "source", "label": "target", "group": "group"}
    data = {"format": "tsv", "kind": "text_generation", "columns": columns, **files}
    both = {"handle": str(shallow_bert), "decoder": str(shallow_causal)}

    def of(data, encoder):
        compare = {"encoders": [encoder, encoder | {"pretrained": False}]}
        compare |= {"adaptations": ["fine_tuning"], "learning_rates": [3e-3]}
        compare |= {"seeds": 3, "extend": False}
        return {"data": data, "training": {"epochs": 1, "batch_size": 6}, "compare": compare}

    sample = {"dataset": "sample_dialog", "source": "sample", "train_examples": 4, "held_out": 0.2}
    return {
        "dialog": of(sample, {"handle": str(shallow_causal)}),
        "text_generation": of(data, both),
    }


def finish(run, gold: list[str], random) -> list[tuple]:
    """A finished run without a training; its answers."""
    said = [("x", -round(len(text) * random.random(), 6), 1.0) for text in gold]
    said[0] = ("y", said[0][1], 0.0)
    lines = [f"{text}\t{value:.6f}\t{hit:.6f}\n" for text, value, hit in said]
    text = "prediction\tlog_probability\thit\n" + "".join(lines)
    score = sum(one[1] for one in said) / sum(len(text.split()) for text in gold)
    run_folder.write_history(run.folder, [{"epoch": 1, "dev_log_probability": -3.0}])
    of_splits = dict.fromkeys(("dev", "test"), {"log_probability": score})
    finished_runs.finish(run.folder, {"test": text}, metric="log_probability", **of_splits)
    return said


@pytest.mark.parametrize("kind", KINDS)
def test_scores_and_items_as_by_hand(kind, content, tmp_path):
    comparison = comparison_from(content[kind], "test")
    outcomes, random = Outcomes(comparison, tmp_path / "out"), np.random.default_rng(3)
    splits = load_splits(comparison.data)
    examples, gold = splits.examples["test"], [one.target for one in splits.examples["test"]]
    answers = {
        cell.name: [finish(outcomes.run(cell, 3e-3, seed), gold, random) for seed in range(3)]
        for cell in comparison.cells
    }
    found, kept = results(
        outcomes, splits, analyses_at(outcomes, ()), data={}, machine="", command=""
    )
    words = sum(len(text.split()) for text in gold)
    for cell in found.cells:
        perplexities = [math.exp(-sum(one[1] for one in said) / words) for said in answers[cell.id]]
        assert np.exp(-np.array(cell.results.scores)) == pytest.approx(perplexities)
        assert cell.results.trained == 3
    groups = [one.document if kind == "dialog" else one.group for one in examples]
    assert found.items.count == len(set(groups)) < len(examples)
    first, second = (
        np.mean([sum(one[1] for one in said) / words for said in answers[cell.id]])
        for cell in found.cells
    )
    (pair,) = found.pairs
    assert pair.difference == pytest.approx(first - second)
    assert found.baseline.score < found.references[0].score < 0
    assert kept["answers.jsonl.gz"].gold == gold
    (shown, *_), step = found.disagreements, len(gold) / 10
    assert [one.label for one in found.disagreements] == [gold[int(step * n)] for n in range(10)]
    assert (shown.answers, shown.right) == ({found.cells[0].id: "y"}, [])


@pytest.mark.parametrize("kind", KINDS)
def test_other_scores_and_their_simple_models(kind, content, tmp_path):
    folder, metric = SAMPLE_FOLDER / "dialog", {"dialog": "hits_at_1_of_4"}.get(kind, "rouge1")
    files = {"train": str(folder / "train.jsonl"), "dev": str(folder / "dev.jsonl")}
    of_files = {"format": "jsonl", "kind": "dialog", "held_out": 0.2, **files}
    data = of_files if kind == "dialog" else content[kind]["data"]
    given = content[kind] | {"data": data | {"metric": metric}}
    splits = load_splits(comparison_from(given, "test").data)
    test, train = splits.examples["test"], splits.examples["train"]
    (name,) = WRITTEN[kind].simple_models
    said = references.fit(splits, metric, name, train)(test)
    gold = [one.target for one in test]
    score = score_of(metric, item_statistics(metric, said, gold).sum(0))
    rouge = RougeScorer(["rouge1"]).score
    pairs = list(zip(gold, said, strict=True))
    expected = {
        "hits_at_1_of_4": lambda: nearest_of(test, 4),
        "rouge1": lambda: [rouge(text, one[0])["rouge1"].fmeasure for text, one in pairs],
    }
    assert score == pytest.approx(np.mean(expected[metric]()))
    baseline = baseline_of(splits, metric, "dev", "test").scores["test"]
    assert baseline == {"dialog": 0.25}.get(kind, 0.0) < score


def test_the_jackknife_leaves_out_a_dialogue():
    rows = np.array([[-3.0, 2], [-4.0, 1], [-9.0, 4], [-1.0, 3], [-5.0, 2]])
    groups = np.array([0, 0, 1, 2, 2])
    found = pseudo_values("log_probability", of_groups(rows, groups))
    whole = rows[:, 0].sum() / rows[:, 1].sum()
    for group in range(3):
        rest = rows[groups != group].sum(0)
        assert found[group] == pytest.approx(3 * whole - 2 * rest[0] / rest[1])


def test_frequencies_of_words_and_bytes_by_pencil():
    train, scored = [Record("x", label="a a b")], [Record("", label="a c"), Record("", label="")]
    # Words a, a, b, and the end of the text: 3 of them different, with 5 bytes or ends of words.
    end = 4 / 262
    of_a, of_c = (2 + 3 * 2 / 262 * end) / 7, 3 * 1 / 262 * end / 7
    of_end = (1 + 3 * end) / 7
    found = word_frequencies.word_log_probabilities(train)(scored)
    assert found == pytest.approx([math.log(of_a * of_c * of_end), math.log(of_end)])
    (long,) = word_frequencies.word_log_probabilities(train)([Record("", label="c" * 999)])
    expected = math.log(3 * end / 7 * of_end) - 999 * math.log(262)
    assert long == pytest.approx(expected)
    splits = type("Splits", (), {"examples": {"train": train}, "kind": "text_generation"})
    counts = byte_counts(splits)
    assert Counter(counts) == {1: 256 - 3, 3: 2, 2: 2}  # a, blank; b, end
    assert by_bytes("ab", counts)[1] == pytest.approx(math.log(3 * 2 * 2 / 263**3))


@pytest.mark.parametrize("kind", KINDS)
def test_one_text_to_everything_is_one_answer(kind):
    """Its scores differ from example to example."""
    same = [("the first", -1.5, 1), ("the first", -2.5, 0)]
    assert len(set(WRITTEN[kind].answers(same))) == 1
    assert len(set(WRITTEN[kind].answers([*same, ("another", -1.5, 1)]))) == 2


def test_a_reply_is_chosen_by_its_words(content):
    splits = load_splits(comparison_from(content["dialog"], "test").data)
    test = splits.examples["test"]
    said = word_frequencies.replies(splits.examples["train"], [], len)(test)
    hits = [hit for *_, hit in said]
    assert np.mean(hits) >= tfidf_hits(test)  # of 4, and of 20
    known = word_frequencies.word_log_probabilities(splits.examples["train"])
    assert [one[1] for one in said] == known(test)


def test_the_target_of_the_nearest_source_as_by_all_cosines():
    random, words = np.random.default_rng(2), [f"w{number}" for number in range(12)]
    train, scored = (
        [Record(" ".join(random.choice(words, 5)), label=f"{number}") for number in range(count)]
        for count in (40, 30)
    )
    known = TfidfVectorizer().fit([one.text_a for one in train])
    vectors = [known.transform([one.text_a for one in some]).toarray() for some in (train, scored)]
    found = [int(target) for target, _ in word_frequencies.texts(train, [], len)(scored)]
    cosines = vectors[1] @ vectors[0].T
    assert cosines[np.arange(30), found] == pytest.approx(cosines.max(axis=1))


def test_what_is_refused(content, tmp_path):
    given = content["text_generation"]
    data, encoders = given["data"], given["compare"]["encoders"]

    def refused(message, **changes):
        with pytest.raises(ConfigError, match=message) as error:
            comparison_from(given | changes, "test")
        return str(error.value)

    refused(
        "data.metric: expected a score of which more.*log_prob",
        data=data | {"metric": "perplexity"},
    )
    alone = given["compare"] | {"encoders": [encoders[0]["handle"]]}
    refused("encoder.decoder: expected a causal module", compare=alone)
    wrong = refused("seeds: expected", compare=given["compare"] | {"seeds": 0})
    assert "decoder" not in wrong
    of_dialogues = content["dialog"]
    with pytest.raises(ConfigError, match="--minutes: expected a comparison without parts of tr"):
        check_budget("--minutes", comparison_from(of_dialogues, "test"), None)
    sized = of_dialogues["compare"] | {"train_examples": [3, "all"]}
    whole = of_dialogues["data"] | {"train_examples": None}
    with pytest.raises(ConfigError, match="compare.train_examples: expected null for dialog"):
        comparison_from(of_dialogues | {"compare": sized, "data": whole}, "test")
    names = [cell.name for cell in comparison_from(given, "test").cells]
    assert names == [
        "shallow_bert-shallow_causal-fine_tuning",
        "shallow_bert-shallow_causal-untrained-fine_tuning",
    ]
    write_predictions(tmp_path, "test", "prediction\nx\n")
    with pytest.raises(ArtifactError, match="expected the log-probability of the right text"):
        read_predictions(tmp_path, "test", "text_generation")


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_whole_comparison(kind, content, tmp_path, workers_here, sketched, request):
    if kind == "dialog":  # of texts that are generated the costs are measured
        request.getfixturevalue("unmeasured")
    given = content[kind]
    compare = given["compare"]
    given["compare"] = compare | {"encoders": compare["encoders"][:1], "seeds": 1}
    path = tmp_path / "config.yaml"
    path.write_text(yaml.safe_dump(given), "utf-8")
    done = CliRunner().invoke(cli, ["compare", str(path), "--out", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    report = json.loads((tmp_path / "out" / "report.json").read_text("utf-8"))
    (cell,) = report["cells"]
    (score,), costs = cell["scores"], cell["costs"]["serving_seconds_per_1000"]
    (metrics,) = (tmp_path / "out").rglob("metrics.json")
    of_run = json.loads(metrics.read_text("utf-8"))
    assert score == of_run["test"]["log_probability"] and costs > 0
    assert "log-probability of a word" in (tmp_path / "out" / "report.md").read_text("utf-8")
    done = CliRunner().invoke(cli, ["compare", str(path), "--dry-run", "--json"])
    assert json.loads(done.stdout)["cells"][0]["cell"] == cell["id"]
