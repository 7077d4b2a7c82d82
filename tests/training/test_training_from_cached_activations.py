"""Runs that start from kept states: the same as without them, and the same when cut off.

(Which layers when: tests/adaptation/test_frozen_layers.py; the states themselves:
tests/encoder/test_cached_activations.py.)
"""

import csv

import numpy as np
import pytest
from cut_runs import keep_at

from tf_adapt.config.reading import config_from
from tf_adapt.encoder.cached_activations import KeptStates
from tf_adapt.runs import checkpoints
from tf_adapt.training import train as training
from tf_adapt.training.steps import Steps
from tf_adapt.training.train import train

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def make_config(tiny_bert):
    def make(adaptation, epochs, limit_mb=100, disk_limit_mb=0, **head):
        content = {
            "data": {"dataset": "sample_classification", "source": "sample", "train_examples": 32},
            "encoder": {"handle": str(tiny_bert)},
            "head": "linear",
            **head,
            "adaptation": adaptation,
            "features": {"limit_mb": limit_mb, "disk_limit_mb": disk_limit_mb},
            # Adam would make steps of gradients that are nothing but rounding.
            "optimizer": {"name": "sgd", "momentum": 0.9},
            "training": {"epochs": epochs, "batch_size": 16, "learning_rate": 1e-1},
        }
        return config_from(content, "test")

    return make


@pytest.fixture(autouse=True)
def no_report(monkeypatch):
    """What comes after the last epoch reads the texts, always."""
    monkeypatch.setattr(training, "finish_run", lambda run: None)


@pytest.fixture
def passes(monkeypatch):
    """The layers of each pass over the training texts."""
    found, computed = [], KeptStates._features

    def watched(self, prepared, number, layers, folder):
        if len(prepared.lengths) == 32:
            found.append(layers)
        return computed(self, prepared, number, layers, folder)

    monkeypatch.setattr(KeptStates, "_features", watched)
    return found


def last_arrays(run) -> dict:
    """All that the last epoch left: weights, slots, states of dropout, metrics."""
    newest = sorted((run / "checkpoint").glob("checkpoint_*"))[-1]
    return checkpoints.read(newest).arrays


def rows(run) -> list[dict[str, float]]:
    with (run / "history.csv").open() as file:
        return [{name: float(value) for name, value in row.items()} for row in csv.DictReader(file)]


def check_same_bits(found, expected):
    for group in expected:
        for number, value in expected[group].items():
            np.testing.assert_array_equal(found[group][number], value)


def test_the_same_run_as_without(make_config, tmp_path, passes):
    train(make_config("top_layers", 2), tmp_path / "kept")
    assert passes == [["layer_0"]]
    train(make_config("top_layers", 2, limit_mb=0), tmp_path / "recomputed")
    assert passes == [["layer_0"]]
    kept, recomputed = (last_arrays(tmp_path / run) for run in ("kept", "recomputed"))
    for number, weight in recomputed["model"].items():
        np.testing.assert_allclose(kept["model"][number], weight, atol=1e-4)
    # As many random numbers drawn, in the same places.
    for number, state in recomputed["random"].items():
        np.testing.assert_array_equal(kept["random"][number], state)
    for ours, theirs in zip(rows(tmp_path / "kept"), rows(tmp_path / "recomputed"), strict=True):
        assert ours == pytest.approx(theirs, abs=1e-4)


def test_a_mix_of_all_layers_is_computed_from_the_texts(make_config, tmp_path, passes, monkeypatch):
    def end(self, batch, logs=None):
        raise InterruptedError

    # Before the first step, which is not traced then; a pass comes before it.
    monkeypatch.setattr(Steps, "on_train_batch_begin", end)
    mixed = {"head_pooling": "mean", "head_mixed": True}
    with pytest.raises(InterruptedError):
        train(make_config("top_layers", 2, **mixed), tmp_path / "run")
    assert passes == []


def test_goes_on_with_the_same_bits_from_the_disk(make_config, tmp_path, passes, monkeypatch):
    # Epochs of two steps: the third step is in the second epoch, for which another layer is kept.
    with monkeypatch.context() as patch:
        keep_at(patch, 3, tmp_path / "run")
        train(make_config("gradual_unfreezing", 3), tmp_path / "whole")
    assert len(passes) == 1
    train(make_config("gradual_unfreezing", 3, limit_mb=0, disk_limit_mb=100), tmp_path / "run")
    assert len(passes) == 2
    check_same_bits(last_arrays(tmp_path / "run"), last_arrays(tmp_path / "whole"))
    histories = [(tmp_path / run / "history.csv").read_bytes() for run in ("run", "whole")]
    assert histories[0] == histories[1]
