"""How far each layer group is from its pretrained weights, against NumPy."""

import keras
import numpy as np
import pytest

from hub_modules.native.elmo import ElmoEncoder
from tf_adapt.encoder.starting_point import StartingPoint

SIZES = {
    "filters": [[1, 3], [2, 4]],
    "character_width": 2,
    "num_highway": 1,
    "projection_width": 4,
    "lstm_width": 6,
}


@pytest.fixture(scope="module")
def encoder():
    encoder = ElmoEncoder(**SIZES, stateful=True)
    encoder.build()
    return encoder


def test_the_distance_of_each_group(encoder):
    start = StartingPoint(encoder)
    assert start.distances() == {"char_cnn": 0, "lstm_0": 0, "lstm_1": 0}
    random = np.random.default_rng(0)
    expected = {}
    for name, weights in encoder.layer_groups[1:]:
        steps = [random.normal(size=weight.shape).astype("float32") for weight in weights]
        for weight, step in zip(weights, steps, strict=True):
            weight.assign_add(step)
        expected[name] = np.sqrt(sum(np.sum(step.astype("float64") ** 2) for step in steps))
    # Also of groups that are frozen now, and of no state that the encoder carries along.
    encoder.trainable = False
    encoder.carried_cell.assign_add(np.ones(encoder.carried_cell.shape))
    assert start.distances() == pytest.approx(expected | {"char_cnn": 0}, rel=1e-6)
    assert list(start.distances()) == ["char_cnn", "lstm_0", "lstm_1"]
    before = {
        name: np.concatenate([start.value_of(weight).numpy().ravel() for weight in weights])
        for name, weights in encoder.layer_groups
    }
    relative = {name: expected.get(name, 0) / np.linalg.norm(w0) for name, w0 in before.items()}
    moved = np.linalg.norm(list(expected.values()))
    relative["all"] = moved / np.linalg.norm(np.concatenate(list(before.values())))
    assert start.relative_distances() == pytest.approx(relative, rel=1e-5)


def test_a_starting_point_belongs_to_one_encoder(encoder):
    start = StartingPoint(encoder)
    assert start.is_of(encoder)
    other = ElmoEncoder(**SIZES)
    other.build()
    assert not start.is_of(other)


def test_half_precision_weights_are_kept_and_measured_exactly():
    encoder = ElmoEncoder(**SIZES, dtype=keras.DTypePolicy("bfloat16"))
    encoder.build()
    start = StartingPoint(encoder)
    assert set(start.distances().values()) == {0.0}
    kernel = encoder.lstms[0].weights[0]
    kernel.assign(kernel.numpy() + np.ones(kernel.shape))
    old = start.value_of(kernel).numpy().astype("float64")
    step = np.linalg.norm(kernel.numpy().astype("float64") - old)
    assert start.distances()["lstm_0"] == pytest.approx(step, rel=1e-6)
