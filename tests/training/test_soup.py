"""The average of runs' weights: the hand-made mean, a run like any other, what does not go."""

import json
import logging
import shutil
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from made_runs import make_run

import tf_adapt as ta
from tf_adapt.commands.main import cli
from tf_adapt.data.catalogue import SAMPLE_FOLDER
from tf_adapt.data.splits.read_splits import load_splits
from tf_adapt.errors import ConfigError
from tf_adapt.layers.scalar_mix import ScalarMix
from tf_adapt.runs import checkpoints, run_folder
from tf_adapt.runs.prediction_files import read_predictions
from tf_adapt.training.finished.trained_run import evaluate_file
from tf_adapt.training.resolving import run_config
from tf_adapt.training.train import train

# Nearly every one trains a model or more.
pytestmark = pytest.mark.slow

DEV = SAMPLE_FOLDER / "classification" / "dev.tsv"


@pytest.fixture(scope="module")
def runs(shallow_bert, tmp_path_factory) -> list[Path]:
    """Of one seed, and one of another."""
    folder = tmp_path_factory.mktemp("runs")
    first = make_run(folder / "first", shallow_bert, "classification", 0)
    moved = Path(shutil.copytree(first, folder / "moved"))
    arrays = checkpoints.read(first / "checkpoint" / "best_0002").arrays["model"]
    random = np.random.default_rng(1)
    arrays = {
        name: array + random.normal(0, 0.2, array.shape).astype("float32")
        for name, array in arrays.items()
    }
    shutil.rmtree(moved / "checkpoint")
    checkpoints.save_best(moved / "checkpoint", "best_0002", arrays)
    return [first, moved, make_run(folder / "other", shallow_bert, "classification", 4)]


def weights_of(run: Path) -> dict[str, np.ndarray]:
    (path,) = (run / "checkpoint").glob("best_*")
    return checkpoints.read(path).arrays["model"]


def assert_mean(run: Path, members: list[Path]) -> None:
    found, expected = weights_of(run), [weights_of(member) for member in members]
    assert found.keys() == expected[0].keys()
    for name, array in found.items():
        mean = sum(one[name].astype("float64") for one in expected) / len(expected)
        np.testing.assert_allclose(array, mean, rtol=1e-6, atol=1e-8)
        assert array.dtype == expected[0][name].dtype


def test_it_is_the_mean_of_the_arrays_and_a_run(runs, tmp_path, caplog):
    with caplog.at_level(logging.WARNING):
        made = ta.ensemble(runs[:2], tmp_path / "soup", average="weights")
    assert "different seeds" not in caplog.text
    assert_mean(tmp_path / "soup", runs[:2])
    model = ta.load_run(tmp_path / "soup")
    hand_made = ta.load_run(runs[0])
    checkpoints.assign(hand_made.weights, weights_of(tmp_path / "soup"), "the mean")
    dev = load_splits(run_config.saved_config(runs[0]).data).examples["dev"]
    predictions = ta.predict(model, dev)
    assert predictions == ta.predict(hand_made, dev)
    accuracy = np.mean(
        [one.label == gold.label for one, gold in zip(predictions, dev, strict=True)]
    )
    metrics = json.loads((tmp_path / "soup" / "metrics.json").read_text("utf-8"))
    assert metrics["dev"]["accuracy"] == pytest.approx(accuracy)
    assert metrics["seconds"]["training"] == 20.0  # of both
    assert made.results["dev"].ensemble == pytest.approx(accuracy)
    assert evaluate_file(tmp_path / "soup", DEV)["accuracy"] == pytest.approx(accuracy)
    run_folder.check_finished(tmp_path / "soup", metrics)
    with pytest.raises(ConfigError, match="the average of the weights of several runs"):
        train(run_config.saved_config(tmp_path / "soup"), tmp_path / "soup")


def test_the_best_members_are_chosen_on_dev(runs, tmp_path, caplog):
    made = ta.ensemble(runs, tmp_path / "soup", average="weights", weights="dev")
    reached = made.results["dev"]
    assert reached.ensemble >= max(reached.members)
    shares = [member.weight for member in made.members]
    kept = [run for run, share in zip(runs, shares, strict=True) if share]
    assert shares == pytest.approx([(run in kept) / len(kept) for run in runs])
    assert shares[reached.best] > 0
    assert_mean(tmp_path / "soup", kept)
    assert "different seeds (0, 4)" in caplog.text


@pytest.fixture(scope="module")
def mixing(shallow_bert, tmp_path_factory) -> list[Path]:
    """Two runs with a mix of layers, slices and a teacher, whose scores are not the soup's."""
    folder = tmp_path_factory.mktemp("mixing")
    away = folder / "away.tsv"
    away.write_text(DEV.read_text("utf-8").replace("?", ", then ?"), "utf-8")
    changed = {"adaptation": "feature_extraction", "head": "linear"}
    changed |= {"slices": {"long": {"longer_than": 8}}, "data": {"shifted": {"away": str(away)}}}
    runs = [make_run(folder / name, shallow_bert, "classification", 0, **changed) for name in "ab"]
    costs = {"parameters": 1, "megabytes": 1.0, "serving_per_1000": 2.0}
    side = {"dev": {"accuracy": 0.99}, **costs}
    nothing = {"rest": None, "interval": None, "p": None, "p_holm": None, "challenging": False}
    for number, run in enumerate(runs):
        path = run / "checkpoint" / "best_0002"
        arrays = checkpoints.read(path).arrays["model"]
        shutil.rmtree(run / "checkpoint")
        arrays = {name: array * (1 + number) for name, array in arrays.items()}
        checkpoints.save_best(run / "checkpoint", "best_0002", arrays)
        teacher = {"run": "t", "hash": "h", "temperature": 2.0, "weight": 0.5, "unlabelled": 0}
        forgot = {"task": "masked_language_model", "before": 3.0, "after": 4.0, "texts": 1}
        forgot |= {"distances": {"all": 1}, "targets": 9, "truncated": 0}
        metrics = json.loads((run / "metrics.json").read_text("utf-8")) | {
            "layer_weights": [1.0, 0.0],
            "forgetting": forgot,
            "distances": {"all": 0.5},
            "shifted": {"away": {"accuracy": 0.99}},
            "slices": {"dev": {"long": {"examples": 1, "score": 0.99} | nothing}},
            "taught": teacher | {"teacher": side, "student": side},
        }
        run_folder.write_metrics(run, metrics)
    return runs


def test_its_metrics_are_its_own(mixing, tmp_path):
    """But for those of training: the scores of slices and as a student, and the layer weights."""
    ta.ensemble(mixing, tmp_path / "soup", average="weights")
    metrics = run_folder.finished_metrics(tmp_path / "soup")
    found = evaluate_file(tmp_path / "soup", DEV)
    assert metrics["dev"]["accuracy"] == pytest.approx(found["accuracy"])
    away = run_config.saved_config(tmp_path / "soup").data.shifted["away"]
    found_there = evaluate_file(tmp_path / "soup", away)["accuracy"]
    assert metrics["shifted"]["away"]["accuracy"] == pytest.approx(found_there)
    assert len(read_predictions(tmp_path / "soup", "shifted/away", "classification")) == 60
    assert metrics["slices"].keys() == metrics["quality"].keys() == {"dev"}
    assert metrics["slices"]["dev"] == found["slices"]
    assert metrics["slices"]["dev"]["long"]["examples"] > 1
    model = ta.load_run(tmp_path / "soup")
    mix, *_ = [one for one in model.head._flatten_layers() if isinstance(one, ScalarMix)]
    np.testing.assert_allclose(metrics["layer_weights"], mix.layer_weights, atol=1e-6)
    assert metrics["taught"]["student"]["dev"] == metrics["dev"]
    assert metrics["taught"]["student"]["serving_per_1000"] == 2.0
    assert metrics["taught"]["teacher"]["dev"] == {"accuracy": 0.99}
    # What a member forgot, and how far it moved, is not the mean's.
    assert not {"forgetting", "distances"} & metrics.keys()


def test_runs_that_started_from_others_are_refused(runs, tmp_path):
    """Copies of one start are one start."""

    def started(name: str, weights: str, head: bool, source: Path) -> Path:
        run = Path(shutil.copytree(source, tmp_path / name))
        metrics = json.loads((run / "metrics.json").read_text("utf-8"))
        start = {"run": f"at/{name}", "dataset": "x", "adaptation": "lora", "metric": "accuracy"}
        start |= {"split": "dev", "score": 0.5, "head": head, "weights": weights}
        run_folder.write_metrics(run, metrics | {"start": start})
        return run

    one = started("one", "1" * 64, False, runs[0])
    for other, message in (
        (runs[1], "expected a run .encoder, SHA-256 1111.*, got the module"),
        (
            started("two", "2" * 64, False, runs[1]),
            "SHA-256 1111.*got a run .encoder, SHA-256 2222",
        ),
        (started("head", "1" * 64, True, runs[1]), "got a run .encoder and head, SHA-256 1111"),
    ):
        with pytest.raises(ConfigError, match=f"start: .*{message}"):
            ta.ensemble([one, other], tmp_path / "out", average="weights")
    same = started("same", "1" * 64, False, runs[1])
    ta.ensemble([one, same], tmp_path / "out", average="weights")


def test_weights_that_do_not_correspond_are_refused(runs, shallow_bert, tiny_elmo, tmp_path):
    def refused(other: Path, message: str) -> None:
        with pytest.raises(ConfigError, match=f"{message}.*average the predictions") as error:
            ta.ensemble([runs[0], other], tmp_path / "out", average="weights")
        assert str(runs[0]) in str(error.value) and str(other) in str(error.value)
        assert not (tmp_path / "out").exists()

    def made(name: str, handle: Path, **changed) -> Path:
        return make_run(tmp_path / name, handle, "classification", 8, **changed)

    refused(made("elmo", tiny_elmo, head="linear"), "module: expected")
    refused(made("pooled", shallow_bert, head_pooling="max"), "head.pooling: expected None")
    refused(
        made("frozen", shallow_bert, adaptation="feature_extraction"),
        "head: expected LinearHead.*got BCN",
    )
    lora = {"name": "lora", "rank": 2}
    refused(made("lora", shallow_bert, adaptation=lora), "adaptation: expected None.*Lora")
    random = {"pretrained": False}
    refused(
        made("random", shallow_bert, encoder=random),
        "start: expected the module.*got random numbers",
    )


def test_random_starts_and_batch_normalisation_are_refused(shallow_bert, tmp_path):
    for name, changed, message in (
        (
            "random",
            {"encoder": {"pretrained": False}},
            "start: expected random .* seed 0.*of seed 1",
        ),
        (
            "drawn",
            {"adaptation": {"name": "fine_tuning", "reinitialise": 1}},
            "reinitialise: expected 1 by random .* seed 0.*of seed 1",
        ),
        (
            "norm",
            {"head": "concat_pooling"},
            "without batch normalisation.*average the predictions",
        ),
    ):
        runs = [
            make_run(
                tmp_path / f"{name}_{seed}", shallow_bert, "classification", seed, **dict(changed)
            )
            for seed in (0, 1)
        ]
        with pytest.raises(ConfigError, match=message):
            ta.ensemble(runs, tmp_path / "out", average="weights")


def test_the_command_names_the_run_folder(runs, tmp_path):
    arguments = ["ensemble", *map(str, runs), "--average", "weights", "--weights", "dev"]
    found = CliRunner().invoke(cli, [*arguments, "--out", str(tmp_path / "soup")])
    assert found.exit_code == 0, found.output
    assert "mean of weights" in found.stdout
    assert "The runs that take part were chosen on dev" in found.stdout
    assert found.stdout.splitlines()[-1] == f"run folder: {tmp_path / 'soup'}"
    found = CliRunner().invoke(
        cli, [*arguments, "--combine", "votes", "--out", str(tmp_path / "a")]
    )
    assert found.exit_code == 2
    assert "expected none with average: weights" in found.stderr
