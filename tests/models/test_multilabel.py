"""Several labels for a text, from a file to predictions, an export and a comparison."""

import csv
import json
import shutil

import numpy as np
import pytest
import tensorflow as tf
from sklearn.metrics import f1_score

import tf_adapt as ta
from hub_modules.manifest import module_hash, write_manifest
from hub_modules.programs.trusted import remember
from tf_adapt.comparison.baseline import baseline_of
from tf_adapt.comparison.verdict.phrases import answer_text
from tf_adapt.config.reading import config_from
from tf_adapt.data.check import check_data
from tf_adapt.data.splits.read_splits import load_splits
from tf_adapt.errors import ArtifactError, ConfigError, DataError, TrainingError
from tf_adapt.training.finished.run_export import export_run
from tf_adapt.training.finished.trained_run import evaluate_file, predict_file
from tf_adapt.training.kinds import KINDS
from tf_adapt.training.train import train

KIND = "multilabel_classification"
COLUMNS = {"text_a": "text", "label": "topics"}
WORDS = ("the", "what", "who")


def examples(count: int, seed: int) -> list[tuple[str, list[str]]]:
    """Texts of some of three words; the labels are the words that are there."""
    random = np.random.default_rng(seed)
    found = []
    for number in range(count):
        labels = [word for word in WORDS if random.random() < 0.5]
        words = random.permutation([*labels * 3, str(number % 10)])
        found.append((" ".join(words), labels))
    return found


def write_tsv(path, rows):
    lines = [f"{text}\t{'|'.join(labels)}" for text, labels in rows]
    path.write_text("\n".join(["text\ttopics", *lines]) + "\n", "utf-8")


def write_jsonl(path, rows):
    lines = [json.dumps({"text": text, "topics": labels}) for text, labels in rows]
    path.write_text("\n".join(lines) + "\n", "utf-8")


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> dict:
    folder = tmp_path_factory.mktemp("data")
    for seed, split in enumerate(("train", "dev", "test")):
        write_tsv(folder / f"{split}.tsv", examples(64 if split == "train" else 32, seed))
    files = {split: str(folder / f"{split}.tsv") for split in ("train", "dev", "test")}
    return {"format": "tsv", "kind": KIND, "columns": COLUMNS} | files


def config_of(data, handle, **training):
    settings = {"epochs": 12, "batch_size": 16, "learning_rate": 3e-2} | training
    content = {"data": data, "encoder": {"handle": str(handle)}, "head": "linear"}
    return config_from(content | {"adaptation": "fine_tuning", "training": settings}, "test")


@pytest.fixture(scope="module")
def run(data, tiny_elmo, tmp_path_factory):
    """A run that chooses thresholds: after few epochs 0.5 is not yet the best."""
    folder = tmp_path_factory.mktemp("runs") / "run"
    train(config_of(data, tiny_elmo, choose_thresholds=True, epochs=4), folder)
    return folder


@pytest.fixture(scope="module")
def exported(run, tmp_path_factory):
    return export_run(run, tmp_path_factory.mktemp("exports") / "1")


def scores_of(run) -> dict:
    return json.loads((run / "metrics.json").read_text("utf-8"))


def predicted_sets(path) -> list[set[str]]:
    lines = path.read_text("utf-8").splitlines()[1:]
    return [set(filter(None, line.split("\t")[0].split("|"))) for line in lines]


@pytest.mark.slow
def test_it_learns_and_scores_as_scikit_learn_does(run):
    scores, gold = scores_of(run), [set(labels) for _, labels in examples(32, 2)]
    assert scores["metric"] == "micro_f1"
    assert scores["test"]["micro_f1"] > 0.7
    rows = [
        [[label in one for label in WORDS] for one in sets]
        for sets in (gold, predicted_sets(run / "predictions" / "test.tsv"))
    ]
    for average in ("micro", "macro"):
        expected = f1_score(*rows, average=average, zero_division=0)
        assert scores["test"][f"{average}_f1"] == pytest.approx(expected)


@pytest.mark.slow
def test_thresholds_are_stored_where_they_were_chosen(run, finished_run):
    thresholds = json.loads((run / "task.json").read_text("utf-8"))["task"]["thresholds"]
    assert len(thresholds) == 3 and thresholds != [0.5] * 3
    assert ta.load_run(run).task.thresholds == tuple(thresholds)
    with open(run / "history.csv", newline="") as file:
        best = max(csv.DictReader(file), key=lambda row: float(row["dev_micro_f1"]))
    assert scores_of(run)["dev"]["macro_f1"] > float(best["dev_macro_f1"]) - 1e-6
    task = json.loads((finished_run(KIND) / "task.json").read_text("utf-8"))["task"]
    assert task["thresholds"] is None


@pytest.mark.slow
def test_run_export_and_file_agree(run, exported, data, tmp_path):
    for folder, name in ((run, "run.tsv"), (exported, "export.tsv")):
        assert predict_file(folder, data["test"], tmp_path / name) == 32
    assert predicted_sets(tmp_path / "run.tsv") == predicted_sets(tmp_path / "export.tsv")
    stored = (run / "predictions" / "test.tsv").read_text("utf-8")
    assert (tmp_path / "run.tsv").read_text("utf-8").splitlines()[0] == stored.splitlines()[0]
    sets = predicted_sets(run / "predictions" / "test.tsv")
    assert predicted_sets(tmp_path / "run.tsv") == sets
    scores = scores_of(run)["test"]
    reached = evaluate_file(run, data["test"])
    assert {name: reached[name] for name in scores} == pytest.approx(scores, abs=1e-5)
    served = evaluate_file(exported, data["test"])
    assert served["labels"] == reached["labels"]
    assert [served[name] for name in ("micro_f1", "macro_f1")] == pytest.approx(
        [scores[name] for name in ("micro_f1", "macro_f1")], abs=1e-5
    )
    predict_file(run, data["test"], tmp_path / "out.jsonl")
    found = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [set(one["prediction"]) for one in found] == sets
    assert set(found[0]["scores"]) == set(WORDS)


@pytest.mark.slow
def test_what_is_served(run, exported):
    texts = [text for text, _ in examples(16, 5)]
    model = ta.load_run(run)
    expected = ta.predict(model, texts)
    assert len({one.label for one in expected}) > 2
    program = tf.saved_model.load(str(exported)).signatures["serving_default"]
    served = program(text=tf.constant(texts))
    assert set(served) == {"labels", "scores"}
    for row, one in zip(served["labels"].numpy(), expected, strict=True):
        wanted = [label if label in one.label else "" for label in model.task.labels]
        assert [label.decode() for label in row] == wanted
    np.testing.assert_allclose(served["scores"], [one.scores for one in expected], atol=1e-5)


@pytest.mark.slow
def test_an_export_with_other_thresholds_than_its_task_is_refused(exported, tmp_path):
    folder = tmp_path / "1"
    shutil.copytree(exported, folder)
    task = json.loads((folder / "task.json").read_text("utf-8"))
    task["task"]["thresholds"] = [1e-6] * 3
    (folder / "task.json").write_text(json.dumps(task), "utf-8")
    (folder / "manifest.json").unlink()
    write_manifest(folder, {"kind": "export"})
    remember(module_hash(folder))  # no trial in a child process
    (tmp_path / "in.tsv").write_text("text\nthe\n7\n", "utf-8")
    with pytest.raises(ArtifactError, match="whose score reaches their threshold"):
        predict_file(folder, tmp_path / "in.tsv", tmp_path / "out")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("x.tsv", "text\ttopics\nthe\tthe|the\n", r"x\.tsv:2: .*expected each label once"),
        ("x.tsv", "text\ttopics\nthe\twho\nthe\tthe|new\n", r"'new', first at .*x\.tsv:3, 1 in"),
        (
            "x.jsonl",
            '{"text": "the", "topics": null}\n',
            r"x\.jsonl:1: expected a label in column",
        ),
    ],
)
def test_labels_that_could_be_misread_are_refused(run, tmp_path, name, text, message):
    (tmp_path / name).write_text(text, "utf-8")
    with pytest.raises(DataError, match=message):
        evaluate_file(run, tmp_path / name)


def files_of(folder, write=write_tsv, **splits) -> dict:
    suffix = "tsv" if write is write_tsv else "jsonl"
    for split, rows in splits.items():
        write(folder / f"{split}.{suffix}", rows)
    files = {split: str(folder / f"{split}.{suffix}") for split in splits}
    return {"format": suffix, "kind": KIND, "columns": COLUMNS} | files


def splits_of(folder, tiny_bert, **options):
    return load_splits(config_of(files_of(folder, **options), tiny_bert).data)


@pytest.mark.parametrize("write", [write_tsv, write_jsonl])
def test_sets_of_files(tmp_path, tiny_bert, write):
    rows = [("x", ["b", "a"]), ("y", []), ("z", ["c"])]
    splits = splits_of(tmp_path, tiny_bert, write=write, train=rows, dev=rows[:2])
    assert splits.labels == ["a", "b", "c"]
    assert [one.label for one in splits.examples["train"]] == [("a", "b"), (), ("c",)]
    report = check_data(splits)
    assert report["train"]["labels"] == {"a": 1, "b": 1, "c": 1}
    task = ta.Task(KIND, labels=splits.labels)
    (_, targets) = next(iter(ta.batches([("x", []), ("y", {"b"})], task, ta.HubEncoder(tiny_bert))))
    assert sorted(targets.numpy().tolist()) == [[0, 0, 0], [0, 1, 0]]
    assert (report["train"]["without any label"], report["dev"]["without any label"]) == (1, 1)


def test_d10_a_label_of_dev_that_train_lacks(tmp_path, tiny_bert):
    with pytest.raises(DataError) as caught:
        splits_of(tmp_path, tiny_bert, train=[("x", ["a"])], dev=[("x", ["a", "b"]), ("y", ["b"])])
    assert f"expected the labels 'a', got 'b', first at {tmp_path}/dev.tsv:2, 2 in all" in str(
        caught.value
    )


def test_train_without_labels_and_another_separator(tmp_path, tiny_bert):
    with pytest.raises(DataError, match="no labels in .*train.tsv; expected an example with"):
        splits_of(tmp_path, tiny_bert, train=[("x", [])], dev=[("x", [])])
    rows = [("x", ["a"]), ("y", ["b"]), ("z", ["a, b"])]
    with pytest.raises(DataError, match=r"expected labels with \| between them, got 'a, b'"):
        splits_of(tmp_path, tiny_bert, train=rows, dev=rows)


def test_the_baseline_is_the_best_constant_set(tmp_path, tiny_bert):
    """Of three texts two have a, two b, one c: {a, b} has 2 · 4 / (5 + 6), more than any other."""
    train_rows = [("x", ["a", "b"]), ("y", ["a"]), ("z", ["b", "c"])]
    dev_rows = [("x", ["a"]), ("y", [])]
    test_rows = [("v", ["a"]), ("w", [])]
    splits = splits_of(tmp_path, tiny_bert, train=train_rows, dev=dev_rows, test=test_rows)
    found = baseline_of(splits, "micro_f1", "dev", "test")
    assert found.answer == ("a", "b")
    assert found.scores == pytest.approx({"dev": 2 * 1 / (1 + 4), "test": 0.4})
    assert (
        answer_text(["a", "b"], KIND)
        == "answering 'a' and 'b', the set that scores best on train, to everything"
    )
    splits.examples["train"] = splits.examples["dev"][1:]
    assert baseline_of(splits, "micro_f1", "dev", "test").answer == ()


def test_n1_thresholds_are_not_chosen_by_nan():
    with pytest.raises(TrainingError, match="choose_thresholds: expected finite probabilities"):
        KINDS[KIND].with_thresholds(None, [], {"probabilities": np.full((32, 3), np.nan)})


def test_thresholds_are_for_sets_of_labels_alone(data, tiny_bert):
    changed = data | {"kind": "classification"}
    named = {"dataset": "sample_classification", "source": "sample"}
    for one_label in (changed, named):
        with pytest.raises(
            ConfigError, match="choose_thresholds: expected false where .*cation\\)"
        ):
            config_of(one_label, tiny_bert, choose_thresholds=True)
    named["dataset"] = "sample_multilabel_classification"
    assert config_of(named, tiny_bert, choose_thresholds=True).training.choose_thresholds
