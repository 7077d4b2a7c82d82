"""Runs that start from kept states: the same as without them, and the same when interrupted."""

import csv
import signal

import numpy as np
import pytest

from tf_adapt.config.reading import config_from
from tf_adapt.encoder import feature_cache
from tf_adapt.encoder.kept_features import KeptStates
from tf_adapt.runs import checkpoints
from tf_adapt.training import train as training
from tf_adapt.training.steps import Steps
from tf_adapt.training.train import train

# Nearly every one trains a model or more.
pytestmark = pytest.mark.slow

# What is trained, for how many epochs, and the layers of each pass over the texts by family.
CASES = {
    "two_stage": (
        {"name": "two_stage", "head_epochs": 2},
        3,
        {"bert": [["layer_1"]]},
    ),
    "top_layers": (
        {"name": "top_layers"},
        2,
        {"bert": [["layer_0"]]},
    ),
    # To lstm_0 alone (BERT: layer_1 alone, the embeddings and layer_0 being trained before).
    "chain_thaw": (
        {"name": "chain_thaw", "every": 2},
        8,
        {"elmo": [["lstm_1"], ["char_cnn"], ["lstm_0"]]},
    ),
    "steps": (
        {"name": "gradual_unfreezing", "unit": "steps", "every": 3},
        4,
        {"elmo": [["lstm_1", "lstm_0", "char_cnn"]]},
    ),
}
QUICK = [("bert", "top_layers")]
LARGE = [("elmo", "chain_thaw"), ("elmo", "steps"), ("bert", "two_stage")]


@pytest.fixture(scope="module")
def make_config(tiny_bert, tiny_elmo):
    handles = {"bert": str(tiny_bert), "elmo": str(tiny_elmo)}

    def make(family, adaptation, epochs, limit_mb=100, disk_limit_mb=0, **sections):
        content = {
            "data": {"dataset": "sample_classification", "source": "sample", "train_examples": 32},
            "encoder": {"handle": handles[family]},
            "head": "linear",
            "adaptation": adaptation,
            "features": {"limit_mb": limit_mb, "disk_limit_mb": disk_limit_mb},
            # Adam would make steps of gradients that are nothing but rounding.
            "optimizer": {"name": "sgd", "momentum": 0.9},
            "training": {"epochs": epochs, "batch_size": 16, "learning_rate": 1e-1},
        }
        return config_from(content | sections, "test")

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


@pytest.mark.parametrize(
    ("family", "name"),
    [
        *QUICK,
        *(pytest.param(*case, marks=pytest.mark.large) for case in LARGE),
    ],
)
def test_the_same_run_as_without(make_config, tmp_path, passes, family, name):
    adaptation, epochs, expected = CASES[name]
    train(make_config(family, adaptation, epochs), tmp_path / "kept")
    assert passes == expected[family]
    train(make_config(family, adaptation, epochs, limit_mb=0), tmp_path / "recomputed")
    assert passes == expected[family]
    kept, recomputed = (last_arrays(tmp_path / run) for run in ("kept", "recomputed"))
    for number, weight in recomputed["model"].items():
        np.testing.assert_allclose(kept["model"][number], weight, atol=1e-4)
    # As many random numbers drawn, in the same places.
    for number, state in recomputed["random"].items():
        np.testing.assert_array_equal(kept["random"][number], state)
    for ours, theirs in zip(rows(tmp_path / "kept"), rows(tmp_path / "recomputed"), strict=True):
        assert ours == pytest.approx(theirs, abs=1e-4)
    train(make_config(family, adaptation, epochs, 0, disk_limit_mb=100), tmp_path / "on_disk")
    assert passes == 2 * expected[family]
    check_same_bits(last_arrays(tmp_path / "on_disk"), kept)


def check_same_bits(found, expected):
    for group in expected:
        for number, value in expected[group].items():
            np.testing.assert_array_equal(found[group][number], value)


@pytest.mark.large
def test_states_on_disk_outlive_an_interruption(make_config, tmp_path, monkeypatch):
    config = make_config("bert", {"name": "top_layers"}, 3, 0, disk_limit_mb=100)
    computed, compute = [], feature_cache.computed_shards

    def watched(prepared, number, graph, parts, orders, *more):
        computed.append(len(orders))
        return compute(prepared, number, graph, parts, orders, *more)

    monkeypatch.setattr(feature_cache, "computed_shards", watched)
    train(config, tmp_path / "whole")
    assert computed == [1, 1]  # train, dev
    with monkeypatch.context() as patch:
        send_signal_at(patch, 3)
        with pytest.raises(SystemExit):
            train(config, tmp_path / "run")
    assert len(list((tmp_path / "run").glob(".features/*/*/features/*/shard_0000"))) == 2
    train(config, tmp_path / "run")
    assert computed == [1, 1, 1, 1]
    check_same_bits(last_arrays(tmp_path / "run"), last_arrays(tmp_path / "whole"))


@pytest.mark.parametrize(
    ("family", "stop"),
    [
        pytest.param("bert", 3, marks=pytest.mark.slow),
        pytest.param("elmo", "evaluation", marks=pytest.mark.large),
    ],
)
def test_goes_on_with_the_same_bits(make_config, tmp_path, passes, monkeypatch, family, stop):
    # Epochs of two steps: the third step is in the second epoch, for which another layer is kept.
    config = make_config(family, {"name": "gradual_unfreezing"}, 3)
    train(config, tmp_path / "whole")
    assert len(passes) == 1
    with monkeypatch.context() as patch:
        send_signal_at(patch, stop)
        with pytest.raises(SystemExit):
            train(config, tmp_path / "run")
    train(config, tmp_path / "run")
    assert len(passes) == 3
    whole, resumed = last_arrays(tmp_path / "whole"), last_arrays(tmp_path / "run")
    check_same_bits(resumed, whole)
    histories = [(tmp_path / run / "history.csv").read_bytes() for run in ("run", "whole")]
    assert histories[0] == histories[1]


def send_signal_at(monkeypatch, moment) -> None:
    after_step, after_test_batch = (
        Steps.on_train_batch_end,
        Steps.on_test_batch_end,
    )

    def on_train_batch_end(self, batch, logs=None):
        if self.run.state.global_step + 1 == moment:
            self.run.interruption.unsaved = True
            signal.raise_signal(signal.SIGTERM)
        after_step(self, batch, logs)

    def on_test_batch_end(self, batch, logs=None):
        if moment == "evaluation" and self.run.state.epoch == 1:
            self.run.interruption.unsaved = True
            signal.raise_signal(signal.SIGTERM)
        after_test_batch(self, batch, logs)

    monkeypatch.setattr(Steps, "on_train_batch_end", on_train_batch_end)
    monkeypatch.setattr(Steps, "on_test_batch_end", on_test_batch_end)


@pytest.mark.large
def test_phases_that_end_by_patience(make_config, tmp_path, passes):
    adaptation = {"name": "chain_thaw", "patience": 1, "every": 3}
    for name, limit in (("kept", 100), ("recomputed", 0)):
        train(make_config("elmo", adaptation, 9, limit), tmp_path / name)
    assert len(passes) >= 2
    kept, recomputed = (last_arrays(tmp_path / run) for run in ("kept", "recomputed"))
    for number, weight in recomputed["model"].items():
        np.testing.assert_allclose(kept["model"][number], weight, atol=1e-4)


@pytest.mark.large
def test_half_precision(make_config, tmp_path, passes):
    settings = {"epochs": 2, "batch_size": 16, "learning_rate": 1e-1}
    for name, limit in (("kept", 100), ("recomputed", 0)):
        training_section = {"training": settings | {"mixed_precision": "bfloat16"}}
        config = make_config("bert", {"name": "top_layers"}, 2, limit, **training_section)
        train(config, tmp_path / name)
    assert passes == [["layer_0"]]
    kept, recomputed = (last_arrays(tmp_path / run) for run in ("kept", "recomputed"))
    for number, weight in recomputed["model"].items():
        assert np.max(np.abs(kept["model"][number] - weight)) < 1e-2


@pytest.mark.large
def test_what_reads_the_texts_again_is_left_alone(make_config, tmp_path, passes):
    train(make_config("elmo", "feature_extraction", 2), tmp_path / "frozen")
    train(make_config("elmo", "fine_tuning", 1), tmp_path / "tuned")
    assert passes == []
