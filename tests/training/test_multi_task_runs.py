"""A run of two tasks: trained, killed, resumed, loaded, scored, predicted by task.

(Exported and served: serving/server/test_three_tasks.py.)
"""

import csv
import json
import shutil

import numpy as np
import pytest
from cut_runs import assert_same_results, best_arrays, keep_at
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

import tf_adapt as ta
from tf_adapt.config.reading import config_from
from tf_adapt.data.catalogue import SAMPLE_FOLDER
from tf_adapt.errors import ConfigError, TrainingError
from tf_adapt.training import callbacks
from tf_adapt.training.dry_run import dry_run, tasks_table
from tf_adapt.training.finished.trained_run import evaluate_file, predict_file
from tf_adapt.training.train import train

# Nearly every one trains a model or more.
pytestmark = pytest.mark.slow

DEV = {
    "question": SAMPLE_FOLDER / "classification" / "dev.tsv",
    "name": SAMPLE_FOLDER / "tagging" / "dev.txt",
}
# Two epochs of 4 steps on both tasks, then 3 steps on the 40 questions; 2 updates in each.
TRAINING = {
    "epochs": 3,
    "target_epochs": 1,
    "steps_per_epoch": 4,
    "accumulate_steps": 3,
    "batch_size": 16,
    "learning_rate": 1e-2,
}


def make_config(handle, **changes):
    def data(kind, examples):
        return {"dataset": f"sample_{kind}", "source": "sample", "train_examples": examples}

    content = {
        "tasks": {
            "question": {"data": data("classification", 40)},
            "name": {"data": data("tagging", 24), "head": "linear_tagger", "weight": 0.5},
        },
        "target": "question",
        "sampling": "annealed",
        "task_attention": 3,
        "encoder": {"handle": str(handle)},
        "adaptation": "fine_tuning",
        "training": TRAINING | changes.pop("training", {}),
    }
    return config_from(content | changes, "test")


@pytest.fixture(scope="module")
def whole(shallow_bert, tmp_path_factory):
    """A run that nothing disturbed; beside it, in `cut`, the same cut off in the epoch on the
    target."""
    run = tmp_path_factory.mktemp("whole") / "run"
    with pytest.MonkeyPatch.context() as patch:
        keep_at(patch, 9, run.with_name("cut"))
        train(make_config(shallow_bert), run)
    return run


def metrics_of(run) -> dict:
    return json.loads((run / "metrics.json").read_text())


def history(run) -> list[dict[str, str]]:
    return list(csv.DictReader((run / "history.csv").open()))


def test_a_run_has_everything_by_task(whole):
    metrics, rows = metrics_of(whole), history(whole)
    assert metrics["target"] == "question" and metrics["dataset"] == "sample_classification"
    assert [row["step"] for row in rows] == ["4", "8", "11"]
    scores = [float(row["dev_question/accuracy"]) for row in rows]
    best = int(np.argmax(scores))
    assert metrics["best_epoch"] == best + 1
    assert metrics["dev"] == metrics["tasks"]["question"]["dev"]
    assert metrics["dev"]["accuracy"] == scores[best]
    tags = metrics["tasks"]["name"]
    assert tags["metric"] == "span_f1" and tags["head"] == "linear_tagger"
    assert tags["dev"]["loss"] == float(rows[best]["dev_name/loss"])
    # In the last epoch no word was tagged.
    assert rows[2]["name/loss"] == "" and float(rows[2]["question/loss"]) > 0
    total = metrics["parameters"]["total"]
    assert total == sum(array.size for array in best_arrays(whole).values())
    for part in ("train", "dev"):
        found = EventAccumulator(str(whole / "tensorboard" / part)).Reload().Tags()["tensors"]
        assert {"question/accuracy", "name/span_f1"} <= set(found)


def test_the_predictions_of_each_task_are_those_of_the_best_arrays(whole):
    lines = DEV["question"].read_text("utf-8").splitlines()
    column = lines[0].split("\t").index("label")
    gold = [line.split("\t")[column] for line in lines[1:]]
    rows = (whole / "predictions" / "question" / "dev.tsv").read_text().splitlines()[1:]
    right = [row.split("\t")[0] == label for row, label in zip(rows, gold, strict=True)]
    assert np.mean(right) == pytest.approx(metrics_of(whole)["dev"]["accuracy"])
    # Each word, its tag, the tag's probability.
    words = (whole / "predictions" / "name" / "dev.tsv").read_text("utf-8").split()[::3]
    assert words == DEV["name"].read_text("utf-8").split()[::2]


def test_cut_off_it_ends_with_the_same_bits(shallow_bert, whole, tmp_path):
    run = tmp_path / "run"
    shutil.copytree(whole.with_name("cut"), run)
    assert not (run / "metrics.json").exists()
    train(make_config(shallow_bert), run)
    assert_same_results(run, whole)
    assert len(list(run.glob("predictions/*/dev.tsv"))) == 2


def test_a_finished_run_takes_no_other_number_of_epochs(shallow_bert, whole):
    """How often each task is trained depends on it."""
    longer = make_config(shallow_bert, training={"epochs": 4})
    with pytest.raises(ConfigError, match=r"training.epochs \(was 3, now 4\)"):
        train(longer, whole)


def test_a_loss_that_is_not_finite_names_task_and_examples(shallow_bert, tmp_path, monkeypatch):
    def fail(self, batch, logs=None):
        raise TrainingError(self.describe_step())

    # Before the step, which is not traced then.
    monkeypatch.setattr(callbacks.FiniteGuard, "on_train_batch_begin", fail)
    expected = r"step 1, task (question|name), examples .*(train.tsv|train.txt):\d+"
    with pytest.raises(TrainingError, match=expected):
        train(make_config(shallow_bert), tmp_path / "run")


@pytest.mark.parametrize("name", DEV)
def test_a_task_is_scored_and_predicted_by_name(whole, tmp_path, name):
    scores = evaluate_file(whole, DEV[name], name=name)
    expected = metrics_of(whole)["tasks"][name]["dev"]
    for metric, value in expected.items():
        assert scores[metric] == pytest.approx(value, rel=1e-5, abs=1e-6), metric
    predict_file(whole, DEV[name], tmp_path / "out.tsv", name=name)
    column = {"question": 0, "name": -1}[name]
    files = (tmp_path / "out.tsv", whole / "predictions" / name / "dev.tsv")
    found, saved = (
        [line.split("\t")[:2][column] for line in file.read_text("utf-8").splitlines()]
        for file in files
    )
    assert found == saved


def test_slices_are_those_of_the_target(shallow_bert, whole, tmp_path):
    run, dev = tmp_path / "run", DEV["question"]
    shutil.copytree(whole, run)
    metrics = train(make_config(shallow_bert, slices={"who": {"words": ["who"]}}), run)
    lines = [line.split("\t") for line in dev.read_text("utf-8").splitlines()]
    rows = [dict(zip(lines[0], line, strict=True)) for line in lines[1:]]
    said = (run / "predictions" / "question" / "dev.tsv").read_text().splitlines()[1:]
    right = [one.split("\t")[0] == row["label"] for one, row in zip(said, rows, strict=True)]
    inside = np.array(["who" in row["text"].lower().split() for row in rows])
    found = metrics["slices"]["dev"]["who"]
    assert found["examples"] == inside.sum() > 0
    assert found["score"] == pytest.approx(np.mean(right, where=inside))
    assert found["rest"] == pytest.approx(np.mean(right, where=~inside))
    assert evaluate_file(run, dev)["slices"] == metrics["slices"]["dev"]
    assert "slices" not in evaluate_file(run, DEV["name"], name="name")
    with pytest.raises(ConfigError, match="slices.never: expected at least one of the 60 examples"):
        dry_run(
            make_config(shallow_bert, slices={"never": {"words": ["never"], "longer_than": 90}})
        )


def test_the_target_is_what_is_meant_by_default(whole):
    assert ta.load_run(whole).task.kind == "classification"
    assert ta.load_run(whole, task="name").task.kind == "tagging"
    with pytest.raises(ConfigError, match="expected one of its tasks question, name, got 'names'"):
        ta.load_run(whole, task="names")


def test_a_dry_run_shows_the_tasks(shallow_bert):
    found = dry_run(make_config(shallow_bert))
    assert found["steps_per_epoch"] == 4
    assert [row["steps"] for row in found["plan"]] == [[1, 4], [5, 8], [9, 11]]
    tasks = found["tasks"]
    sizes = np.array([tasks[name]["examples"] for name in ("question", "name")])
    assert sizes[0] == 40 and tasks["question"]["batches"] == 3
    for epoch, alpha in ((1, 1.0), (2, 0.2)):
        expected = sizes**alpha / np.sum(sizes**alpha)
        drawn = [tasks[name]["probabilities"][epoch] for name in ("question", "name")]
        np.testing.assert_allclose(drawn, expected)
    assert tasks["question"]["probabilities"][3] == 1 and tasks["name"]["weight"] == 0.5
    assert tasks_table(found).row_count == 2
