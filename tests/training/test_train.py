"""A run from config to metrics, on a tiny model and the sample data."""

import csv
import json
import signal
from dataclasses import replace

import keras
import numpy as np
import pytest
from cut_runs import assert_same_results, best_arrays
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from tf_adapt.config.reading import config_from
from tf_adapt.errors import DataError, TrainingError
from tf_adapt.runs import checkpoints, run_folder
from tf_adapt.training import callbacks as monitoring
from tf_adapt.training.resolving import finished_before, run_config
from tf_adapt.training.resolving.compiled_model import compiled_model, precision
from tf_adapt.training.resolving.configured_splits import splits_of
from tf_adapt.training.steps import Steps
from tf_adapt.training.train import train

KINDS = {"classification": "accuracy", "pair_regression": "pearson", "tagging": "span_f1"}


@pytest.fixture(scope="module")
def make_config(shallow_bert):
    def make(
        dataset="sample_classification",
        adaptation="fine_tuning",
        head="default",
        encoder=shallow_bert,
        **changes,
    ):
        settings = {"epochs": 2, "batch_size": 16, "learning_rate": 1e-2}
        content = {
            "data": {"dataset": dataset, "source": "sample", "train_examples": 64},
            "encoder": {"handle": str(encoder)},
            "adaptation": adaptation,
            "head": head,
            "training": settings | changes,
        }
        return config_from(content, "test")

    return make


@pytest.fixture(scope="module")
def whole(make_config, tmp_path_factory):
    """A run of the default config that nothing disturbed."""
    run = tmp_path_factory.mktemp("whole") / "run"
    train(make_config(), run)
    return run


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "metric"), KINDS.items())
def test_every_kind_of_task(finished_run, kind, metric):
    run = finished_run(kind)
    metrics = json.loads((run / "metrics.json").read_text())
    assert metrics["dataset"] == f"sample_{kind}"
    assert metrics["metric"] == metric
    assert metrics["dev"].keys() >= {"loss", metric}
    expected = {"training", "evaluation", "serving_per_1000", "total"}
    assert metrics["seconds"].keys() == expected
    assert metrics["peak_memory_mb"] > 0
    assert metrics["versions"]["keras"] == keras.__version__
    assert "dev" in metrics["splits"]["dev"]
    assert sorted(entry.name for entry in run.iterdir()) == [
        "checkpoint", "config.yaml", "history.csv", "metrics.json", "predictions", "record.json",
        "task.json", "tensorboard",
    ]  # fmt: skip
    for part in ("train", "dev"):
        events = EventAccumulator(str(run / "tensorboard" / part)).Reload()
        assert {"loss", metric} <= set(events.Tags()["tensors"])
    check_history(run, metrics, 1)


def check_history(run, metrics, epochs):
    assert metrics["epochs"] == epochs
    history = list(csv.DictReader((run / "history.csv").open()))
    assert [row["epoch"] for row in history] == [str(number + 1) for number in range(epochs)]
    assert ("encoder_gradient" in history[0]) == ("distances" in metrics)
    assert all(0 < float(row.get("encoder_gradient", 1)) <= 1 for row in history)
    metric = metrics["metric"]
    if metrics["dev"][metric] is not None:
        # Of whole sentences it is computed anew, in float64.
        best = float(history[metrics["best_epoch"] - 1][f"dev_{metric}"])
        assert best == pytest.approx(metrics["dev"][metric], rel=1e-6)


def test_predictions_are_those_of_the_best_weights(make_config, whole):
    metrics = json.loads((whole / "metrics.json").read_text())
    check_history(whole, metrics, 2)
    assert train(make_config(), whole) == metrics
    rows = (whole / "predictions" / "dev.tsv").read_text().splitlines()
    gold = _gold("classification/dev.tsv")
    predicted = [row.split("\t")[0] for row in rows[1:]]
    right = sum(one == other for one, other in zip(predicted, gold, strict=True))
    assert right / len(gold) == pytest.approx(metrics["dev"]["accuracy"])


def _gold(name: str) -> list[str]:
    from tf_adapt.data.catalogue import SAMPLE_FOLDER

    lines = (SAMPLE_FOLDER / name).read_text(encoding="utf-8").splitlines()
    column = lines[0].split("\t").index("label")
    return [line.split("\t")[column] for line in lines[1:]]


def test_frozen_encoder_keeps_its_weights(make_config, tiny_bert, tmp_path):
    run = tmp_path / "run"
    config = make_config(adaptation="feature_extraction", head="linear", encoder=tiny_bert)
    metrics = train(config, run)
    # The mix of three states has a weight each and a scale.
    assert metrics["parameters"]["trainable"] == 16 * 4 + 4 + 4
    model = compiled_model(config, _task())
    before = checkpoints.to_arrays(model.weights)
    after = best_arrays(run)
    changed = [name for name in before if not np.array_equal(before[name], after[name])]
    encoder = {weight.path for weight in model.encoder.weights}
    assert len(changed) > 2
    assert not encoder & {model.weights[int(name)].path for name in changed}


def _task():
    from tf_adapt.tasks.task import Task

    return Task("classification", labels=["number", "person", "place", "time"])


@pytest.mark.slow
def test_n3_another_seed_another_result(make_config, whole, tmp_path):
    """(One seed, one result: faults/test_repeatability.py.)"""
    train(make_config(seed=1), tmp_path / "other")
    one, other = best_arrays(whole), best_arrays(tmp_path / "other")
    assert any((one[name] != other[name]).any() for name in one)
    assert (tmp_path / "other" / "task.json").read_bytes() == (whole / "task.json").read_bytes()


def test_changed_data_of_a_finished_run(finished_run, monkeypatch, caplog):
    folder = finished_run()
    config = run_config.saved_config(folder)
    splits = splits_of(config)
    first, *others = splits.examples["dev"]
    splits.examples["dev"] = [replace(first, label="time"), *others]
    monkeypatch.setattr(finished_before, "splits_of", lambda config: splits)
    with pytest.raises(DataError, match="expected the dev examples of this finished run"):
        train(config, folder)

    def gone(config):
        raise DataError("train.tsv: no such file")

    monkeypatch.setattr(finished_before, "splits_of", gone)
    assert train(config, folder) == run_folder.finished_metrics(folder)
    assert "cannot be read now: train.tsv: no such file" in caplog.text


@pytest.mark.parametrize(
    "moment",
    [
        pytest.param("step 2", marks=pytest.mark.large),
        pytest.param("last step", marks=pytest.mark.large),
        pytest.param("evaluation", marks=pytest.mark.slow),
    ],
)
def test_i3_goes_on_where_a_signal_stopped_it(make_config, whole, tmp_path, monkeypatch, moment):
    config = make_config()
    send_signal_at(monkeypatch, moment)
    with pytest.raises(SystemExit) as stopped:
        train(config, tmp_path / "run")
    assert stopped.value.code == 143
    assert not (tmp_path / "run" / "metrics.json").exists()
    monkeypatch.undo()
    train(config, tmp_path / "run")
    assert_same_results(tmp_path / "run", whole)


def send_signal_at(monkeypatch, moment: str) -> None:
    steps = {"step 2": 2, "last step": 4}
    on_train_batch_end = Steps.on_train_batch_end
    on_test_batch_end = Steps.on_test_batch_end

    def after_step(self, batch, logs=None):
        if self.run.state.global_step + 1 == steps.get(moment):
            self.run.interruption.unsaved = True
            signal.raise_signal(signal.SIGTERM)
        on_train_batch_end(self, batch, logs)

    def after_test_batch(self, batch, logs=None):
        if moment == "evaluation" and self.run.state.epoch == 0:
            signal.raise_signal(signal.SIGTERM)
        on_test_batch_end(self, batch, logs)

    monkeypatch.setattr(Steps, "on_train_batch_end", after_step)
    monkeypatch.setattr(Steps, "on_test_batch_end", after_test_batch)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("end", "epochs"),
    [
        ({"patience": 2}, 4),
        # 0.7 of the second epoch is the best of the third, too.
        ({"stop_below": [0.5, None, 0.71]}, 3),
    ],
)
def test_a_run_ends_early_and_the_best_epoch_counts(
    make_config, tmp_path, monkeypatch, end, epochs
):
    scores = iter([0.5, 0.7, 0.7, 0.6, 0.9])
    plain_numbers = monitoring.plain_numbers

    def scripted(values):
        numbers = plain_numbers(values)
        if "accuracy" in numbers and scripted.evaluations % 2:
            numbers["accuracy"] = next(scores)
        scripted.evaluations += 1
        return numbers

    scripted.evaluations = 0
    monkeypatch.setattr(monitoring, "plain_numbers", scripted)
    config = make_config(adaptation="feature_extraction", head="linear", epochs=5, **end)
    metrics = train(config, tmp_path / "run")
    assert metrics["epochs"] == epochs
    assert metrics["best_epoch"] == 2
    assert metrics["dev"]["accuracy"] == 0.7


def test_n1_not_finite(make_config, tmp_path):
    run = tmp_path / "run"
    with pytest.raises(TrainingError, match=r"step \d+, examples .*train\.tsv:\d+.* not finite"):
        train(make_config(learning_rate=1e30, clip_norm=None, warmup=0), run)
    assert not (run / "metrics.json").exists()
    for path in (run / "checkpoint").glob("*"):
        for group in checkpoints.read(path).arrays.values():
            assert all(np.isfinite(array).all() for array in group.values())


@pytest.mark.slow
def test_n1_names_the_sentence_of_a_part(make_config, tmp_path, monkeypatch):
    def fail(self, batch, logs=None):
        raise TrainingError(self.describe_step())

    # Before the step, which is not traced then.
    monkeypatch.setattr(monitoring.FiniteGuard, "on_train_batch_begin", fail)
    config = make_config("sample_tagging", head="linear_tagger", max_length=24)
    with pytest.raises(TrainingError, match=r"step 1, examples .*train\.txt:\d+"):
        train(config, tmp_path / "run")


def test_refused_data_leave_no_run(make_config, tmp_path):
    with pytest.raises(DataError, match="max_length|longer|truncate"):
        train(make_config(max_length=4), tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_mixed_precision(make_config, tmp_path):
    before = keras.config.dtype_policy().name
    metrics = train(make_config(mixed_precision="float16", epochs=1), tmp_path / "run")
    assert keras.config.dtype_policy().name == before
    assert np.isfinite(metrics["dev"]["loss"])
    assert {array.dtype.name for array in best_arrays(tmp_path / "run").values()} == {"float32"}


def test_precision_is_put_back_after_an_error():
    before = keras.config.dtype_policy().name
    with pytest.raises(ZeroDivisionError), precision("bfloat16"):
        assert keras.layers.Dense(1).compute_dtype == "bfloat16"
        1 / 0  # noqa: B018
    assert keras.config.dtype_policy().name == before


def test_clipping_and_decay_reach_the_optimizer(make_config):
    options = {"clip_norm": 0.5, "weight_decay": 0.02, "accumulate_steps": 2}
    model = compiled_model(make_config(**options), _task())
    optimizer = model.optimizer
    assert (optimizer.global_clipnorm, optimizer.gradient_accumulation_steps) == (0.5, 2)
    assert optimizer.inner.weight_decay == 0.02
    kept = [w.name for w in model.trainable_weights if not optimizer._use_weight_decay(w)]
    assert set(kept) == {"bias", "gamma", "beta"}
