"""Runs of one process that share data, model and traced steps: the same bits as runs alone."""

import keras
import numpy as np
import pytest

from tf_adapt import checkpoints
from tf_adapt.config import config_from
from tf_adapt.reuse import Reuse
from tf_adapt.starting_point import StartingPoint
from tf_adapt.training import train

CASES = {
    "gradual_unfreezing": {"adaptation": {"name": "gradual_unfreezing"}},
    "feature_extraction": {"adaptation": "feature_extraction"},
    "untrained": {"encoder": {"pretrained": False}, "adaptation": "feature_extraction"},
    "chain_thaw": {"adaptation": {"name": "chain_thaw", "every": 1}},
    "adapters": {"adaptation": {"name": "adapters", "size": 4}},
    "l2_sp": {
        "encoder": {"pretrained": False},
        "penalties": {"l2_sp": {"alpha": 0.1, "beta": 0.1}},
    },
    "float16": {"training": {"mixed_precision": "float16"}},
    "esim": {"data": {"dataset": "sample_pair_classification"}, "head": "esim"},
}
QUICK = ("gradual_unfreezing",)


@pytest.fixture
def make_config(tiny_bert):
    def make(seed=0, rate=1e-2, **changes):
        content = {
            "data": {
                "dataset": "sample_classification",
                "source": "sample",
                "train_examples": 32,
                **changes.pop("data", {}),
            },
            "encoder": {"handle": str(tiny_bert), **changes.pop("encoder", {})},
            "head": "linear",
            "adaptation": "fine_tuning",
            "training": {
                "epochs": 3,
                "batch_size": 16,
                "learning_rate": rate,
                "seed": seed,
                **changes.pop("training", {}),
            },
        }
        return config_from(content | changes, "test")

    return make


def outcome(folder) -> tuple:
    found = checkpoints.load_latest(folder / "checkpoint")
    arrays = {**found.arrays, "best": checkpoints.load_best(folder / "checkpoint").arrays["model"]}
    return arrays, (folder / "history.csv").read_text(), found.state["best"]


@pytest.mark.parametrize(
    "case", [pytest.param(c, marks=() if c in QUICK else pytest.mark.slow) for c in CASES]
)
def test_a_run_after_another_has_the_bits_of_a_run_alone(make_config, tmp_path, case):
    reuse = Reuse()
    first, second = ((0, 1e-2), (1, 3e-3))
    train(make_config(*first, **CASES[case]), tmp_path / "first", reuse)
    train(make_config(*second, **CASES[case]), tmp_path / "after", reuse)
    train(make_config(*second, **CASES[case]), tmp_path / "alone")
    arrays, history, best = outcome(tmp_path / "after")
    expected, expected_history, expected_best = outcome(tmp_path / "alone")
    assert arrays.keys() == expected.keys()
    for group, values in expected.items():
        for name, value in values.items():
            np.testing.assert_array_equal(arrays[group][name], value, f"{group} {name}")
    assert history == expected_history != outcome(tmp_path / "first")[1]
    assert best == expected_best


def test_steps_are_traced_once(make_config, tmp_path, monkeypatch):
    traced, traces_of = [], keras.Model.compute_loss
    monkeypatch.setattr(
        keras.Model,
        "compute_loss",
        lambda *arguments, **options: traced.append(1) or traces_of(*arguments, **options),
    )
    reuse, changes = Reuse(), CASES["chain_thaw"]
    train(make_config(0, **changes), tmp_path / "0", reuse)
    count = len(traced)
    assert count > 3
    train(make_config(1, **changes), tmp_path / "1", reuse)
    assert len(traced) == count
    train(make_config(1, **changes, head_dropout=0.3), tmp_path / "other", reuse)
    assert len(traced) == 2 * count


@pytest.mark.slow
def test_a_run_that_was_cut_off_goes_on_in_a_process_that_has_done_another(make_config, tmp_path):
    reuse = Reuse()
    for name in ("cut", "cut_alone"):
        train(make_config(1, training={"epochs": 1}), tmp_path / name)
    train(make_config(0, training={"epochs": 2}), tmp_path / "other", reuse)
    train(make_config(1, training={"epochs": 2}), tmp_path / "cut", reuse)
    train(make_config(1, training={"epochs": 2}), tmp_path / "cut_alone")
    assert outcome(tmp_path / "cut")[1] == outcome(tmp_path / "cut_alone")[1]
    expected = outcome(tmp_path / "cut_alone")[0]["optimizer"]
    for name, value in outcome(tmp_path / "cut")[0]["optimizer"].items():
        np.testing.assert_array_equal(value, expected[name])


@pytest.mark.slow
@pytest.mark.parametrize(
    "changes",
    [{"auxiliary": {"distillation": {"weight": 0.1}}}, {"training": {"devices": "cpu:1"}}],
    ids=["auxiliary loss", "devices"],
)
def test_nothing_is_kept_where_more_than_variables_change(make_config, tmp_path, changes):
    reuse, config = Reuse(), make_config(**changes)
    train(config, tmp_path / "run", reuse)
    assert reuse.parts(config) is None


def test_the_starting_point_moves(tiny_bert):
    from tf_adapt.encoder import HubEncoder

    encoder = HubEncoder(tiny_bert)
    start = StartingPoint(encoder)
    weight = encoder.trainable_weights[0]
    weight.assign(weight + 1.0)
    assert max(start.distances().values()) > 0
    start.move_here()
    assert max(start.distances().values()) == 0
