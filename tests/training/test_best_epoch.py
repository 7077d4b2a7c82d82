"""Runs in phases that end by patience: what comes back, from memory and from disk."""

import shutil
import signal

import numpy as np
import pytest

from tf_adapt.config.reading import config_from
from tf_adapt.models.adapted_model import AdaptedModel
from tf_adapt.runs import checkpoints
from tf_adapt.training import train as training
from tf_adapt.training.load_run import load_run
from tf_adapt.training.steps import Steps
from tf_adapt.training.train import train

STEPS = 2


@pytest.fixture
def make_config(tiny_elmo):
    def make(epochs, name="gradual_unfreezing", **options):
        content = {
            "data": {"dataset": "sample_classification", "source": "sample", "train_examples": 32},
            "encoder": {"handle": str(tiny_elmo)},
            "head": "linear",
            "adaptation": {"name": name, "patience": 1} | options,
            "training": {"epochs": epochs, "batch_size": 16, "learning_rate": 1e-2},
        }
        return config_from(content, "test")

    return make


@pytest.fixture
def scores(monkeypatch):
    """The dev scores of the epochs, to be filled in; no report after the last."""
    found, evaluate = [], AdaptedModel.evaluate

    def scripted(self, *args, callbacks=(), **options):
        values = evaluate(self, *args, callbacks=callbacks, **options)
        for callback in callbacks:
            values["accuracy"] = found[callback.run.state.epoch]
        return values

    monkeypatch.setattr(AdaptedModel, "evaluate", scripted)
    monkeypatch.setattr(training, "finish_run", lambda run: None)
    return found


def stop_after(monkeypatch, step: int) -> None:
    after_step = Steps.on_train_batch_end

    def on_train_batch_end(self, batch, logs=None):
        if self.run.state.global_step + 1 == step:
            self.run.interruption.unsaved = True
            signal.raise_signal(signal.SIGTERM)
        after_step(self, batch, logs)

    monkeypatch.setattr(Steps, "on_train_batch_end", on_train_batch_end)


def newest(run, number=-1) -> checkpoints.Checkpoint:
    return checkpoints.read(sorted((run / "checkpoint").glob("checkpoint_*"))[number])


def kept_slots(run) -> list[str]:
    return sorted(path.name for path in (run / "checkpoint").glob("slots_*"))


def assert_same_bits(some: dict, others: dict) -> None:
    assert some.keys() == others.keys()
    for name, value in some.items():
        np.testing.assert_array_equal(value, others[name], err_msg=name)


@pytest.mark.slow
def test_the_next_phase_begins_where_the_best_epoch_ended(make_config, scores, tmp_path):
    scores += [0.9, 0.1]
    train(make_config(2), tmp_path / "run")
    best, ended = newest(tmp_path / "run", -2), newest(tmp_path / "run")
    assert ended.state["position"] == {"phase": 1, "since": 2}
    assert_same_bits(ended.arrays["model"], best.arrays["model"])
    before, after = best.arrays["optimizer"], ended.arrays["optimizer"]
    # The count of all steps goes on, and with it the rate.
    assert (before.pop("0"), after.pop("0")) == (STEPS, 2 * STEPS)
    assert before.pop("1") > after.pop("1") > 0
    assert_same_bits(after, before)
    assert sum(np.any(slot) for slot in before.values()) == 2 * 3  # of the head: m, v and a count
    # What was drawn at random is not drawn again.
    assert any(
        np.any(state != best.arrays["random"][name])
        for name, state in ended.arrays["random"].items()
    )


@pytest.mark.parametrize(
    "stop",
    [
        pytest.param(5, marks=pytest.mark.slow),
        *(pytest.param(epoch, marks=pytest.mark.large) for epoch in (3, 6)),
    ],
)
def test_goes_on_with_the_same_bits(make_config, scores, tmp_path, monkeypatch, stop):
    # Both phases that end go back to the first epoch, which a resumed run finds on disk alone.
    scores += [0.9, 0.1, 0.2, 0.95]
    config = make_config(4)
    train(config, tmp_path / "whole")
    with monkeypatch.context() as patch:
        stop_after(patch, stop)
        with pytest.raises(SystemExit):
            train(config, tmp_path / "run")
    train(config, tmp_path / "run")
    whole, resumed = newest(tmp_path / "whole"), newest(tmp_path / "run")
    assert resumed.state["position"] == {"phase": 2, "since": 3}
    for group, arrays in whole.arrays.items():
        assert_same_bits(resumed.arrays[group], arrays)


@pytest.mark.slow
def test_slots_are_on_disk_while_a_phase_may_begin_with_them(make_config, scores, tmp_path):
    scores += [0.9, 0.1, 0.2, 0.95]
    found = []
    for epochs in (1, 2, 3, 4):
        train(make_config(epochs, "two_stage"), tmp_path / "run")
        found.append(kept_slots(tmp_path / "run"))
    # From the second epoch on, the last checkpoint but one alone has to know them.
    assert found == [["slots_0001"], ["slots_0001"], [], []]
    train(make_config(1, patience=None), tmp_path / "other")
    assert kept_slots(tmp_path / "other") == []


@pytest.mark.slow
def test_a_run_of_before_slots_were_kept(make_config, scores, tmp_path, monkeypatch, caplog):
    scores += [0.9, 0.1]
    with monkeypatch.context() as patch:
        stop_after(patch, 3)
        with pytest.raises(SystemExit):
            train(make_config(2), tmp_path / "run")
    folder = tmp_path / "run" / "checkpoint"
    stopped = newest(tmp_path / "run")
    del stopped.state["best"]["slots"]
    checkpoints.save(folder, stopped.arrays, stopped.state)
    shutil.rmtree(stopped.path)
    shutil.rmtree(folder / "slots_0001")
    best = checkpoints.load_best(folder).arrays["model"]
    assert_same_bits(checkpoints.to_arrays(load_run(tmp_path / "run").weights), best)
    train(make_config(2), tmp_path / "run")
    assert "best_0001: expected the optimizer's slots beside these weights, got none" in caplog.text
    ended = newest(tmp_path / "run")
    assert_same_bits(ended.arrays["model"], best)
    # The head's own counters of steps are those of the second epoch.
    counts = [a for a in ended.arrays["optimizer"].values() if a.dtype == "int64" and a > 0]
    assert counts == 3 * [2 * STEPS]
