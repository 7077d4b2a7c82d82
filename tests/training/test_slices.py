"""Slices of a run: scored in training and evaluation, without a change of the training."""

import json
import re
import shutil

import numpy as np
import pytest
import tensorflow as tf
from click.testing import CliRunner
from sklearn.metrics import accuracy_score
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from tf_adapt.commands.main import cli
from tf_adapt.config.reading import config_from, dump_config
from tf_adapt.data.catalogue import SAMPLE_FOLDER
from tf_adapt.errors import ConfigError
from tf_adapt.runs import checkpoints, run_folder
from tf_adapt.runs.prediction_files import read_predictions
from tf_adapt.training.dry_run import dry_run
from tf_adapt.training.finished.trained_run import evaluate_file
from tf_adapt.training.resolving import run_config
from tf_adapt.training.train import train

# Nearly every one trains a model or more.
pytestmark = pytest.mark.slow

NEGATION = {"words": ["not", "no", "n't"]}
LONG = {"longer_than": 9}
# The words of the sample, whose clitics stand apart.
WORD = r"n't|'[a-z]+|[a-z0-9]+"
DEV = SAMPLE_FOLDER / "pair_classification" / "dev.tsv"


@pytest.fixture(scope="module")
def with_slices(finished_run):
    """The config of a finished run, with slices."""

    def make(kind="pair_classification", **slices):
        config = run_config.saved_config(finished_run(kind)).model_dump(exclude_none=True)
        return config_from(config | {"slices": slices}, "test")

    return make


@pytest.fixture(scope="module")
def runs(finished_run, with_slices, tmp_path_factory):
    """Two folders of one seed, without and with slices."""
    run = tmp_path_factory.mktemp("slices") / "with"
    train(with_slices(negation=NEGATION, long=LONG), run)
    return finished_run("pair_classification"), run


def subset(name):
    """Gold labels of dev and which pairs are in a slice, from the file itself."""
    rows = [line.split("\t") for line in DEV.read_text("utf-8").splitlines()]
    header, rows = rows[0], rows[1:]
    columns = [header.index(key) for key in ("text_a", "text_b")]
    texts = [[row[column].lower() for column in columns] for row in rows]
    wanted = {"not", "no", "n't"}
    inside = {
        "negation": [any(wanted & set(text.split()) for text in pair) for pair in texts],
        "long": [any(len(re.findall(WORD, text)) > 9 for text in pair) for pair in texts],
    }[name]
    return [row[header.index("label")] for row in rows], np.array(inside)


def test_the_same_seed_has_the_same_bits_with_and_without(runs):
    first, second = (checkpoints.load_best(run / "checkpoint").arrays["model"] for run in runs)
    assert all(np.array_equal(first[name], second[name]) for name in first)
    for name in ("history.csv", "predictions/dev.tsv"):
        assert (runs[0] / name).read_bytes() == (runs[1] / name).read_bytes()
    assert "slices" not in json.loads((runs[0] / "metrics.json").read_text())


def test_scores_of_a_run_are_those_of_scikit_learn(runs):
    said = read_predictions(runs[1], "dev", "pair_classification")
    metrics = run_folder.finished_metrics(runs[1])
    assert list(metrics["slices"]) == ["dev"]
    for name, found in metrics["slices"]["dev"].items():
        gold, inside = subset(name)
        assert found["examples"] == inside.sum() > 0
        for key, side in (("score", inside), ("rest", ~inside)):
            picked = np.flatnonzero(side)
            right = accuracy_score([gold[n] for n in picked], [said[n] for n in picked])
            assert found[key] == pytest.approx(right)
        assert found["interval"][0] < found["score"] < found["interval"][1]
    events = EventAccumulator(str(runs[1] / "tensorboard" / "dev")).Reload()
    (event,) = events.Tensors("slices/long")
    assert event.step == 3
    score = metrics["slices"]["dev"]["long"]["score"]
    assert tf.make_ndarray(event.tensor_proto) == pytest.approx(score)


def test_evaluate_scores_them_on_any_file(runs):
    trained = run_folder.finished_metrics(runs[1])["slices"]["dev"]
    assert evaluate_file(runs[1], DEV)["slices"] == trained
    done = CliRunner().invoke(cli, ["evaluate", str(runs[1]), "--data", str(DEV)])
    assert done.exit_code == 0, done.output
    assert f"  long: score {trained['long']['score']:.4f} on " in done.stdout
    assert "slices" not in evaluate_file(runs[0], DEV)


def test_other_slices_of_a_finished_run_are_scored_without_training(runs, with_slices, tmp_path):
    run = tmp_path / "run"
    shutil.copytree(runs[1], run)
    places = tmp_path / "ids.txt"
    places.write_text("dev.tsv:2\npair_classification/dev.tsv:3\n", "utf-8")
    config = with_slices(long=LONG, hard={"wrong_in": str(runs[0])}, mine={"file": str(places)})
    before = (run / "checkpoint").stat().st_mtime_ns
    metrics = train(config, run)
    assert (run / "checkpoint").stat().st_mtime_ns == before
    found = metrics["slices"]["dev"]
    assert list(found) == ["long", "hard", "mine"]
    # Both runs have the same weights.
    assert (found["hard"]["score"], found["hard"]["rest"], found["hard"]["p"]) == (0, 1, None)
    assert found["mine"]["examples"] == 2
    assert found["long"] | {"p_holm": None} == (
        run_folder.finished_metrics(runs[1])["slices"]["dev"]["long"] | {"p_holm": None}
    )
    assert run_folder.finished_metrics(run) == metrics == train(config, run)
    assert list(run_config.saved_config(run).slices) == ["long", "hard", "mine"]
    # A run that has moved away is a warning in evaluation, not the end of it.
    places.unlink()
    scores = evaluate_file(run, DEV)["slices"]
    assert scores["mine"] is None
    assert scores["hard"] == found["hard"]
    lines = CliRunner().invoke(cli, ["evaluate", str(run), "--data", str(DEV)]).stdout
    assert "  mine: unknown of these examples" in lines
    assert "slices" not in train(with_slices(), run)


def test_train_prints_a_line_for_each_slice(runs, with_slices, tmp_path):
    path = tmp_path / "config.yaml"
    path.write_text(dump_config(with_slices(negation=NEGATION, long=LONG)), "utf-8")
    done = CliRunner().invoke(cli, ["train", str(path), "--out", str(runs[1])])
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    assert lines[0].startswith("dev: accuracy")
    assert lines[1].startswith("  negation: accuracy ")
    assert lines[2].startswith("  long: accuracy ")


def test_an_empty_slice_ends_a_run_before_its_first_step(with_slices, tmp_path):
    config = with_slices(longest={"longer_than": 500})
    for start in (lambda: train(config, tmp_path / "run"), lambda: dry_run(config)):
        with pytest.raises(ConfigError, match="slices.longest: expected at least one of the 60 ex"):
            start()
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("kind", "slices"),
    [
        ("tagging", {"the": {"words": ["the"]}}),
        pytest.param("pair_regression", {"not": NEGATION}, marks=pytest.mark.large),
        pytest.param("multilabel_classification", {"long": LONG}, marks=pytest.mark.large),
    ],
)
def test_other_kinds(finished_run, with_slices, tmp_path, kind, slices):
    shutil.copytree(finished_run(kind), tmp_path / "run")
    metrics = train(with_slices(kind, **slices), tmp_path / "run")
    (found,) = metrics["slices"]["dev"].values()
    assert 0 < found["examples"] < 200
    assert found["score"] is not None
    path = next(path for path in (SAMPLE_FOLDER / kind).iterdir() if path.name.startswith("dev"))
    (again,) = evaluate_file(tmp_path / "run", path)["slices"].values()
    assert again["examples"] == found["examples"]
    assert [again[key] for key in ("score", "rest")] == pytest.approx(
        [found[key] for key in ("score", "rest")], abs=1e-2
    )
