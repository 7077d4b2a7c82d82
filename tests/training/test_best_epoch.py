"""Runs in phases that end by patience: what comes back, from memory and from disk."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from tf_adapt.config.reading import config_from
from tf_adapt.models.adapted_model import AdaptedModel
from tf_adapt.runs import checkpoints, run_folder
from tf_adapt.training import epochs
from tf_adapt.training import train as training
from tf_adapt.training.finished.load_run import load_run
from tf_adapt.training.resolving import run_config
from tf_adapt.training.steps import Steps
from tf_adapt.training.train import train

STEPS = 2


@pytest.fixture(scope="module")
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


@pytest.fixture(scope="module", autouse=True)
def scores():
    """The dev scores of the epochs are 0.9, 0.1, 0.2 and 0.95; no report after the last."""
    found, evaluate = [0.9, 0.1, 0.2, 0.95], AdaptedModel.evaluate

    def scripted(self, *args, callbacks=(), **options):
        values = evaluate(self, *args, callbacks=callbacks, **options)
        for callback in callbacks:
            values["accuracy"] = found[callback.run.state.epoch]
        return values

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(AdaptedModel, "evaluate", scripted)
        patch.setattr(training, "finish_run", lambda run: None)
        yield


def recorded(config, run):
    """Trains a run; beside it are copies `after N` steps, in mid-epoch or after the evaluation."""
    save, step_ends = epochs.save_state, Steps.on_train_batch_end

    def kept(folder, state, model, *rest):
        save(folder, state, model, *rest)
        copy = run.with_name(f"after {state.global_step}")
        shutil.copytree(run, copy, ignore=shutil.ignore_patterns(run_folder.LOCK))

    def on_train_batch_end(self, batch, logs=None):
        step_ends(self, batch, logs)
        if self.run.state.step < self.run.state.steps_of_epoch:
            kept(self.run.checkpoints, self.run.state, self.run.model)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(epochs, "save_state", kept)
        patch.setattr(Steps, "on_train_batch_end", on_train_batch_end)
        train(config, run)
    return run


@pytest.fixture(scope="module")
def whole(make_config, tmp_path_factory):
    """A run of four epochs. Both phases that end go back to the first epoch, which a resumed run
    finds on disk alone."""
    return recorded(make_config(4), tmp_path_factory.mktemp("whole") / "whole")


@pytest.fixture
def run_after(whole, tmp_path):
    """Steps → a copy of the run as it was then."""
    return lambda steps: Path(shutil.copytree(whole.with_name(f"after {steps}"), tmp_path / "run"))


def newest(run, number=-1) -> checkpoints.Checkpoint:
    return checkpoints.read(sorted((run / "checkpoint").glob("checkpoint_*"))[number])


def kept_slots(run) -> list[str]:
    return sorted(path.name for path in (run / "checkpoint").glob("slots_*"))


def assert_same_bits(some: dict, others: dict) -> None:
    assert some.keys() == others.keys()
    for name, value in some.items():
        np.testing.assert_array_equal(value, others[name], err_msg=name)


@pytest.mark.slow
def test_the_next_phase_begins_where_the_best_epoch_ended(whole):
    best, ended = (newest(whole.with_name(f"after {epochs * STEPS}")) for epochs in (1, 2))
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


@pytest.mark.slow
def test_goes_on_with_the_same_bits(make_config, whole, run_after):
    run = run_after(5)
    train(make_config(4), run)
    resumed = newest(run)
    assert resumed.state["position"] == {"phase": 2, "since": 3}
    for group, arrays in newest(whole).arrays.items():
        assert_same_bits(resumed.arrays[group], arrays)


@pytest.mark.slow
def test_slots_are_on_disk_while_a_phase_may_begin_with_them(make_config, tmp_path):
    run = recorded(make_config(4, "two_stage"), tmp_path / "whole")
    found = [kept_slots(run.with_name(f"after {epochs * STEPS}")) for epochs in (1, 2, 3, 4)]
    # From the second epoch on, the last checkpoint but one alone has to know them.
    assert found == [["slots_0001"], ["slots_0001"], [], []]
    train(make_config(1, patience=None), tmp_path / "other")
    assert kept_slots(tmp_path / "other") == []


@pytest.mark.slow
def test_a_run_of_before_slots_were_kept(make_config, run_after, caplog):
    run = run_after(3)
    folder, stopped = run / "checkpoint", newest(run)
    del stopped.state["best"]["slots"]
    checkpoints.save(folder, stopped.arrays, stopped.state)
    shutil.rmtree(stopped.path)
    shutil.rmtree(folder / "slots_0001")
    best = checkpoints.load_best(folder).arrays["model"]
    assert_same_bits(checkpoints.to_arrays(load_run(run).weights), best)
    run_config.start(run, make_config(2))  # as if no more had been asked for
    train(make_config(2), run)
    assert "best_0001: expected the optimizer's slots beside these weights, got none" in caplog.text
    ended = newest(run)
    assert_same_bits(ended.arrays["model"], best)
    # The head's own counters of steps are those of the second epoch.
    counts = [a for a in ended.arrays["optimizer"].values() if a.dtype == "int64" and a > 0]
    assert counts == 3 * [2 * STEPS]
