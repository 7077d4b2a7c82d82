"""The gradient written by hand against TensorFlow's own of the same steps, one after another."""

import numpy as np
import pytest
import tensorflow as tf

from hub_modules.native.kernels.bilm_recurrence import projected_lstm

TIME, BATCH, UNITS, WIDTH = 5, 3, 4, 2


def unrolled(gates_from_input, recurrent, projection, hidden, cell, lengths, clips):
    """As `projected_lstm`, without a loop of TensorFlow's."""
    outputs = []
    for t in range(TIME):
        i, j, f, o = tf.split(gates_from_input[t] + tf.matmul(hidden, recurrent), 4, -1)
        new_cell = tf.sigmoid(f) * cell + tf.sigmoid(i) * tf.tanh(j)
        new_cell = tf.clip_by_value(new_cell, -clips[0], clips[0]) if clips[0] else new_cell
        new_hidden = tf.matmul(tf.sigmoid(o) * tf.tanh(new_cell), projection)
        new_hidden = tf.clip_by_value(new_hidden, -clips[1], clips[1]) if clips[1] else new_hidden
        outputs.append(new_hidden)
        alive = (t < lengths)[None, :, None]
        hidden, cell = tf.where(alive, new_hidden, hidden), tf.where(alive, new_cell, cell)
    return tf.stack(outputs), hidden, cell


def arrays(seed: int) -> list[tf.Tensor]:
    random = np.random.default_rng(seed)
    shapes = [
        (TIME, 2, BATCH, 4 * UNITS),
        (2, WIDTH, 4 * UNITS),
        (2, UNITS, WIDTH),
        (2, BATCH, WIDTH),
        (2, BATCH, UNITS),
    ]
    return [tf.constant(random.normal(0, 1.5, shape), tf.float32) for shape in shapes]


@pytest.mark.parametrize("clips", [(None, None), (0.7, 0.5), (0.2, 0.1)])
@pytest.mark.parametrize("traced", [False, True])
def test_values_and_gradients(clips, traced):
    inputs, lengths = arrays(0), tf.constant([5, 2, 0])
    # Every result has a say in the loss, also what stands behind a row's last word.
    weights = [tf.cast(array, tf.float32) for array in weights_of_results()]

    def results(function):
        with tf.GradientTape() as tape:
            tape.watch(inputs)
            found = function()
            loss = tf.add_n([tf.reduce_sum(w * r) for w, r in zip(weights, found, strict=True)])
        return [*found, *tape.gradient(loss, inputs)]

    def ours():
        return results(lambda: projected_lstm(*inputs, lengths, *clips))

    found = tf.function(ours)() if traced else ours()
    wanted = results(lambda: unrolled(*inputs, lengths, clips))
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=2e-6)


def weights_of_results() -> list[np.ndarray]:
    random = np.random.default_rng(1)
    shapes = [(TIME, 2, BATCH, WIDTH), (2, BATCH, WIDTH), (2, BATCH, UNITS)]
    return [random.normal(size=shape) for shape in shapes]


def test_half_precision_keeps_its_types_and_stays_near():
    inputs, lengths = arrays(2), tf.constant([5, 4, 3])
    halves = [tf.cast(array, tf.bfloat16) for array in inputs[:4]] + [inputs[4]]

    def gradients(values):
        with tf.GradientTape() as tape:
            tape.watch(values)
            outputs, *_ = projected_lstm(*values, lengths, 3.0, 3.0)
            loss = tf.reduce_sum(tf.cast(outputs, tf.float32) ** 2)
        return tape.gradient(loss, values)

    for half, whole in zip(gradients(halves), gradients(inputs), strict=True):
        assert half.dtype == (tf.float32 if half.shape[-1] == UNITS else tf.bfloat16)
        norm = np.linalg.norm(whole)
        assert np.linalg.norm(tf.cast(half, tf.float32) - whole) < 0.05 * norm
