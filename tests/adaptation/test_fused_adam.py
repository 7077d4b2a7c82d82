"""Adam's step as one operation: against Keras' own, and when it is left to Keras."""

from types import SimpleNamespace

import keras
import numpy as np
import pytest
import tensorflow as tf

from tf_adapt.adaptation.discriminative import DiscriminativeOptimizer
from tf_adapt.adaptation.fused_adam import can_fuse

OPTIONS = {"beta_1": 0.8, "beta_2": 0.95, "epsilon": 1e-6}


def made(values):
    return [keras.Variable(value, name=f"kernel_{n}") for n, value in enumerate(values)]


def ours_of(inner):
    return DiscriminativeOptimizer(inner, SimpleNamespace(layer_groups=[], adaptable_groups=[]))


def step_of(optimizer, weights):
    return lambda gradients: optimizer.apply(gradients, weights)


@pytest.mark.parametrize(
    ("make", "in_graph"),
    [
        (lambda: keras.optimizers.Adam(0.01, **OPTIONS), False),
        (lambda: keras.optimizers.AdamW(0.01, weight_decay=0.3, **OPTIONS), True),
        (lambda: keras.optimizers.Adam(0.01, weight_decay=0.3), True),
        (lambda: keras.optimizers.Adam(keras.optimizers.schedules.CosineDecay(0.01, 40)), True),
    ],
    ids=["adam", "adamw", "adam that decays", "schedule"],
)
def test_forty_steps_are_those_of_keras(make, in_graph):
    random = np.random.default_rng(0)
    start = [random.normal(size=shape).astype("float32") for shape in ((4, 3), (5,), ())]
    ours, theirs = made(start), made(start)
    optimizers = [ours_of(make()), make()]
    for optimizer, weights in zip(optimizers, (ours, theirs), strict=True):
        optimizer.build(weights)
    assert optimizers[0]._is_fused
    steps = [step_of(*pair) for pair in zip(optimizers, (ours, theirs), strict=True)]
    if in_graph:
        steps = [tf.function(step, autograph=False) for step in steps]
    for _ in range(40):
        gradients = [tf.constant(random.normal(size=w.shape), tf.float32) for w in ours]
        for step in steps:
            step(gradients)
    for one, other, first in zip(ours, theirs, start, strict=True):
        np.testing.assert_allclose(one.numpy(), other.numpy(), atol=1e-5)
        assert np.abs(one.numpy() - first).max() > 1e-3


def test_a_step_has_one_operation_a_weight():
    weights = made(np.ones((3, 2), "float32"))
    optimizer = ours_of(keras.optimizers.AdamW(0.01, global_clipnorm=1.0))
    optimizer.build(weights)
    step = tf.function(lambda: optimizer.apply([tf.ones([2])] * 3, weights), autograph=False)
    types = [one.type for one in step.get_concrete_function().graph.get_operations()]
    assert types.count("ResourceApplyAdam") == 3
    assert "Square" not in types


@pytest.mark.parametrize(
    ("optimizer", "dtype"),
    [
        (keras.optimizers.Adam(amsgrad=True), "float32"),
        (keras.optimizers.AdamW(use_ema=True), "float32"),
        (keras.optimizers.Nadam(), "float32"),
        (keras.optimizers.SGD(), "float32"),
        (keras.optimizers.Adam(), "bfloat16"),
    ],
)
def test_what_the_operation_does_not_compute_is_left_to_keras(optimizer, dtype):
    assert not can_fuse(optimizer, [keras.Variable([1.0], dtype=dtype)])
