"""Run folders to the content of a report, and to the report itself."""

import json
from dataclasses import replace

import numpy as np
import pytest
import yaml

from tf_adapt.comparison import comparing
from tf_adapt.comparison.results import results
from tf_adapt.comparison.runs import Outcomes
from tf_adapt.comparison.settings import load_comparison
from tf_adapt.data.formats import TaggedSentence
from tf_adapt.data.splits import fingerprint, load_splits
from tf_adapt.errors import ArtifactError

METRICS = {
    "adaptation": "",
    "metric": "accuracy",
    "family": "elmo",
    "head": "bcn",
    "module": "abc",
    "truncated": {"train": 0, "dev": 0, "test": 2},
    "layer_weights": [0.2, 0.3, 0.5],
    "parameters": {"total": 5000, "trainable": 1000},
    "seconds": {"training": 10.0, "serving_per_1000": 2.0},
    "peak_memory_mb": 800.0,
    "versions": {"tf_adapt": "1"},
}


@pytest.fixture
def comparison(tmp_path):
    content = {
        "data": {"dataset": "sample_classification", "source": "sample", "held_out": 0.2},
        "compare": {
            "encoders": ["elmo_small"],
            "adaptations": ["feature_extraction", "fine_tuning"],
            "learning_rates": [1.0e-3],
            "seeds": 2,
        },
        "training": {"epochs": 2, "batch_size": 32},
    }
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(content), "utf-8")
    return load_comparison(tmp_path / "config.yaml")


def finish(run, predictions: str, test: float, dev=(0.4, 0.6)):
    """A run folder as `tf-adapt train` leaves it."""
    (run.folder / "predictions").mkdir(parents=True)
    scores = {"dev": {"accuracy": max(dev)}, "test": {"accuracy": test}}
    (run.folder / "metrics.json").write_text(json.dumps(METRICS | scores))
    rows = [f"{number},{score}" for number, score in enumerate(dev, start=1)]
    (run.folder / "history.csv").write_text("\n".join(["epoch,dev_accuracy", *rows]) + "\n")
    (run.folder / "predictions" / "test.tsv").write_text(predictions, "utf-8")


def table(labels) -> str:
    return "".join(f"{line}\t0.5\n" for line in ["prediction", *labels])


def test_scores_costs_and_curves(comparison, tmp_path):
    splits = load_splits(comparison.cells[0].config.data)
    labels = splits.labels
    gold = [record.label for record in splits.examples["test"]]
    other = {label: labels[index - 1] for index, label in enumerate(labels)}
    outcomes = Outcomes(comparison, tmp_path / "out")
    for cell, counts in zip(comparison.cells, [[5, 5], [0, 1]], strict=True):
        for seed, count in enumerate(counts):
            said = [other[label] if n < count else label for n, label in enumerate(gold)]
            finish(outcomes.run(cell, 1e-3, seed), table(said), 1 - count / len(gold))
    content = results(outcomes, splits)
    json.dumps(content, allow_nan=False)
    frozen, tuned = content["cells"]
    size = len(gold)
    assert frozen["scores"] == [1 - 5 / size] * 2
    assert tuned["mean"] == pytest.approx(1 - 0.5 / size)
    assert tuned["deviation"] == pytest.approx(np.std([1, 1 - 1 / size], ddof=1))
    assert frozen["curves"] == [[0.4, 0.6]] * 2
    assert frozen["layer_weights"] == [0.2, 0.3, 0.5]
    assert frozen["costs"]["task_megabytes"] == pytest.approx(0.004)
    assert np.trace(frozen["confusion"]) == 2 * (size - 5)
    assert np.sum(frozen["confusion"]) == 2 * size
    (pair,) = content["pairs"]
    assert (pair["a"], pair["b"]) == (frozen["id"], tuned["id"])
    assert pair["difference"] == pytest.approx(-4.5 / size)
    assert [one["label"] for one in content["disagreements"]] == gold[:5]
    assert content["disagreements"][0]["answers"][frozen["id"]] == other[gold[0]]
    assert content["modules"] == {"elmo_small": "abc"}
    assert content["truncated"] == {"elmo_small": {"train": 0, "dev": 0, "test": 2}}
    assert "--seed 1" in frozen["commands"][1]


def test_the_most_frequent_label_of_train_scores_its_share_of_test(comparison, tmp_path):
    """Of train's labels a is the most frequent one, of test's b."""
    splits = load_splits(comparison.cells[0].config.data)
    record = splits.examples["test"][0]
    labels = {"train": "aaab", "dev": "b", "test": "abbbb"}
    examples = {
        name: [replace(record, label=label) for label in said] for name, said in labels.items()
    }
    found = results(Outcomes(comparison, tmp_path), replace(splits, examples=examples))
    assert found["majority"] == {"label": "a", "score": 0.2}


def test_unfinished_cells_have_no_scores_and_no_tests(comparison, tmp_path):
    splits = load_splits(comparison.cells[0].config.data)
    outcomes = Outcomes(comparison, tmp_path / "out")
    content = results(outcomes, splits)
    assert [cell["scores"] for cell in content["cells"]] == [[None, None]] * 2
    assert content["pairs"] == []
    assert content["cells"][0]["mean"] is None
    json.dumps(content, allow_nan=False)


@pytest.mark.parametrize("text", ["", "prediction\n", table(["number"])])
def test_predictions_that_are_not_whole(comparison, tmp_path, text):
    splits = load_splits(comparison.cells[0].config.data)
    outcomes = Outcomes(comparison, tmp_path / "out")
    finish(outcomes.run(comparison.cells[0], 1e-3, 0), text, 0.5)
    with pytest.raises(ArtifactError, match="expected predictions of"):
        results(outcomes, splits)


def test_tagged_sentences(comparison, tmp_path):
    splits = load_splits(comparison.cells[0].config.data)
    sentences = [
        TaggedSentence(["Ann", "Lee"], ["B-PER", "I-PER"]),
        TaggedSentence(["in", "New\u00a0York"], ["O", "B-LOC"]),
    ]
    splits = replace(
        splits, kind="tagging", labels=["O", "B-PER", "I-PER", "B-LOC"], metric="span_f1"
    )
    splits.examples["test"] = sentences
    outcomes = Outcomes(comparison, tmp_path / "out")
    tags = {
        "feature_extraction": "Ann\tB-PER\nLee\tI-PER\n\nin\tO\nNew\u00a0York\tO\n",
        "fine_tuning": "Ann\tB-PER\nLee\tI-PER\n\nin\tO\nNew\u00a0York\tB-LOC\n",
    }
    for cell in comparison.cells:
        for seed in range(2):
            run = outcomes.run(cell, 1e-3, seed)
            finish(run, tags[cell.config.adaptation.name], 0.5)
            metrics = METRICS | {
                "metric": "span_f1",
                "dev": {"span_f1": 0.5},
                "test": {"span_f1": 1.0},
            }
            (run.folder / "metrics.json").write_text(json.dumps(metrics))
            (run.folder / "history.csv").write_text("epoch,dev_span_f1\n1,0.5\n")
    content = results(outcomes, splits)
    (pair,) = content["pairs"]
    assert pair["difference"] == pytest.approx(2 / 3 - 1)  # F1 of one of two entities, and of both
    assert content["cells"][0]["confusion"] is None
    assert content["disagreements"][0]["text_a"] == "in New\u00a0York"
    assert content["disagreements"][0]["label"] == "O B-LOC"


@pytest.fixture
def reports(comparison, monkeypatch):
    """What is reported of a comparison whose runs are there at once: 🔥 is always right."""
    splits = load_splits(comparison.cells[0].config.data)
    gold = [record.label for record in splits.examples["test"]]
    first, second, *_ = splits.labels
    wrong = [second if label == first else first for label in gold]

    def run_all(outcomes, *others):
        for cell, said in zip(comparison.cells, (wrong, gold), strict=True):
            for seed in comparison.seeds:
                finish(outcomes.run(cell, 1e-3, seed), table(said), float(said is gold))

    written = []
    monkeypatch.setattr(comparing, "run_all", run_all)
    monkeypatch.setattr(
        comparing, "write_report", lambda content, out: written.append(json.dumps(content))
    )
    return written


def test_the_export_is_in_the_report(comparison, tmp_path, reports, monkeypatch):
    def export(run, folder):
        (folder / "1").mkdir(parents=True)

    monkeypatch.setattr(comparing, "_export", export)
    content = comparing.compare(comparison, tmp_path / "out")
    winner = f"{comparison.cells[1].name}-rate_0.001-seed_0"
    assert content["verdict"]["exported"] == f"winner/{winner}/1"
    assert [json.loads(text) for text in reports] == [content]
    examples = load_splits(comparison.cells[0].config.data).examples
    assert content["data"] == {split: fingerprint(found) for split, found in examples.items()}


def test_an_export_that_fails_leaves_the_report(comparison, tmp_path, reports, monkeypatch):
    def export(run, folder):
        raise ArtifactError("no space left")

    monkeypatch.setattr(comparing, "_export", export)
    with pytest.raises(ArtifactError, match="no space left"):
        comparing.compare(comparison, tmp_path / "out")
    (content,) = map(json.loads, reports)
    assert content["verdict"]["recommended"] == comparison.cells[1].name
    assert content["verdict"]["exported"] is None
