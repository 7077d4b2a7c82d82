"""Pools over real positions, by pencil."""

import numpy as np
import pytest
import tensorflow as tf

from hub_modules.pooling_names import POOLING_NAMES
from tf_adapt.layers.pooling import (
    POOLINGS,
    check_pooling,
    masked_first,
    masked_last,
    masked_max,
    masked_mean,
    masked_min,
)

STATES = np.array([[[1.0, -5.0], [3.0, -4.0], [9.0, 9.0]], [[7.0, 7.0]] * 3], "float32")
MASK = np.array([[True, True, False], [False, False, False]])
EXPECTED = [
    (masked_max, [3.0, -4.0]),
    (masked_min, [1.0, -5.0]),
    (masked_mean, [2.0, -4.5]),
    (masked_first, [1.0, -5.0]),
    (masked_last, [3.0, -4.0]),
]


@pytest.mark.parametrize(("pool", "expected"), EXPECTED)
def test_pools_skip_padding(pool, expected):
    for dtype in ("float32", "bfloat16", "float16"):
        pooled = pool(tf.cast(STATES, dtype), tf.constant(MASK))
        assert pooled.dtype == dtype
        np.testing.assert_array_equal(tf.cast(pooled, "float32"), [expected, [0.0, 0.0]])
    nothing = pool(tf.zeros([2, 0, 3]), tf.zeros([2, 0], "bool"))
    np.testing.assert_array_equal(nothing, [[0] * 3] * 2)


def test_first_and_last_are_the_outermost_real_positions():
    """Rows may be padded in front, as for causal encoders."""
    states = np.arange(5.0)[None, :, None]
    mask = np.array([[False, True, False, True, False]])
    assert [pool(states, mask).numpy().item() for pool in (masked_first, masked_last)] == [1, 3]


def test_the_config_knows_every_name():
    assert tuple(POOLINGS) == POOLING_NAMES
    for name in POOLINGS:
        check_pooling(name)
    with pytest.raises(ValueError, match="word_pieces: expected one of first, .* got 'sum'"):
        check_pooling("sum", "word_pieces")


@pytest.mark.parametrize(
    ("pool", "expected"),
    [
        (masked_max, [[0, 0], [1, 1]]),
        (masked_min, [[1, 1], [0, 0]]),
        (masked_mean, [[0.5, 0.5]] * 2),
        (masked_first, [[1, 1], [0, 0]]),
        (masked_last, [[0, 0], [1, 1]]),
    ],
)
def test_gradients_reach_real_positions_only(pool, expected):
    gradient = np.zeros_like(STATES)
    gradient[0, :2] = expected
    for junk in (np.nan, np.inf, 9.0):
        states = tf.constant(np.where(MASK[..., None], STATES, np.float32(junk)))
        with tf.GradientTape() as tape:
            tape.watch(states)
            value = tf.reduce_sum(pool(states, tf.constant(MASK)))
        np.testing.assert_array_equal(tape.gradient(value, states), gradient)
