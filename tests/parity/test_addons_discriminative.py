"""Discriminative rates against the trajectories of TensorFlow Addons' MultiOptimizer."""

from types import SimpleNamespace

import keras
import numpy as np
import pytest
import tensorflow as tf

from tf_adapt.adaptation.discriminative import DiscriminativeOptimizer

# Addons' defaults. Its LAMB was recorded without weight decay: with it the rules would differ,
# since Addons adds the decay to the update before scaling it by the trust ratio, Keras afterwards.
INNERS = {
    "adam": lambda rate: keras.optimizers.Adam(rate),
    "sgd_momentum": lambda rate: keras.optimizers.SGD(rate, momentum=0.9),
    "adamw": lambda rate: keras.optimizers.AdamW(rate, weight_decay=0.01),
    "lamb": lambda rate: keras.optimizers.Lamb(rate, epsilon=1e-6),
}


@pytest.fixture(scope="module")
def recorded(reference):
    path = reference / "tensorflow_addons" / "discriminative.npz"
    with np.load(path, allow_pickle=False) as arrays:
        return dict(arrays)


def starts(recorded) -> list:
    return [recorded[f"start_{n}"] for n in range(len(recorded["rates"]))]


def trajectory(inner, recorded, rates) -> np.ndarray:
    """All weights side by side after each step, the last block being the head."""
    blocks = [keras.Variable(start, name=f"block_{n}") for n, start in enumerate(starts(recorded))]
    groups = [(block.name, [block]) for block in blocks[:-1]]
    encoder = SimpleNamespace(layer_groups=groups, adaptable_groups=dict(groups))
    factors = {name: rate / rates[-1] for (name, _), rate in zip(groups, rates[:-1], strict=True)}
    optimizer = DiscriminativeOptimizer(inner(float(rates[-1])), encoder, factors=factors)
    ends = np.cumsum([block.value.shape.num_elements() for block in blocks])[:-1]
    steps = []
    for gradient in recorded["gradients"]:
        parts = zip(np.split(gradient, ends), blocks, strict=True)
        optimizer.apply([tf.reshape(part, block.shape) for part, block in parts], blocks)
        steps.append(np.concatenate([block.numpy().ravel() for block in blocks]))
    return np.array(steps)


@pytest.mark.parametrize("name", INNERS)
def test_trajectories_are_those_of_addons(recorded, compare, name):
    got = trajectory(INNERS[name], recorded, recorded["rates"])
    expected = recorded[f"trajectory_{name}"]
    # Keras and Addons have the same rule here: what is left is float32.
    compare(f"Addons MultiOptimizer, {name}", got, expected, 1e-6 * max(1, np.abs(expected).max()))
    # What the comparison can see: weights go far further, and one rate for all ends elsewhere.
    whole = np.concatenate([start.ravel() for start in starts(recorded)])
    assert np.abs(expected[-1] - whole).max() > 1e-3
    alike = trajectory(
        INNERS[name], recorded, np.full_like(recorded["rates"], recorded["rates"][-1])
    )
    assert np.abs(alike - expected).max() > 1e-3


def test_lamb_with_weight_decay_is_another_rule(recorded):
    """How far Keras' LAMB goes from Addons' (in NumPy here) once weights decay."""
    decay, rate, steps = 0.01, float(recorded["rates"][-1]), len(recorded["gradients"])
    inner = keras.optimizers.Lamb(rate, epsilon=1e-6, weight_decay=decay)
    got = trajectory(lambda _: inner, recorded, np.full_like(recorded["rates"], rate))[-1]
    ends = np.cumsum([start.size for start in starts(recorded)])[:-1]
    expected = []
    for start, gradient in zip(
        starts(recorded), np.split(recorded["gradients"], ends, axis=1), strict=True
    ):
        weight, m, v = start.astype("float64").ravel(), 0.0, 0.0
        for t, g in enumerate(gradient.astype("float64"), start=1):
            m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g**2
            update = m / (1 - 0.9**t) / (np.sqrt(v / (1 - 0.999**t)) + 1e-6) + decay * weight
            weight -= rate * np.linalg.norm(weight) / np.linalg.norm(update) * update
        expected.append(weight)
    difference = np.abs(got - np.concatenate(expected)).max()
    # Per step at most rate · decay · |w| in Keras, and as much times the trust ratio in Addons.
    print(f"Addons LAMB with decay: largest difference {difference:.2e} after {steps} steps")
    assert 1e-5 < difference < 1e-3
