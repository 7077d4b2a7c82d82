"""The BiLSTM against Keras' own LSTMs: states, gradients, and rows of every length."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from tf_adapt.layers.bi_lstm import BiLstm

UNITS, WIDTH = 4, 3


def case(lengths, time, seed=0):
    random = np.random.default_rng(seed)
    states = random.normal(size=(len(lengths), time, WIDTH)).astype("float32")
    return states, np.arange(time) < np.array(lengths)[:, None]


def pair(seed=1):
    """Our layer, and Keras' LSTMs with the same weights."""
    layer = BiLstm(UNITS)
    layer.build((None, None, WIDTH))
    random = np.random.default_rng(seed)
    references = []
    for direction in (layer.forward, layer.backward):
        for weight in direction.weights:
            weight.assign(random.normal(size=weight.shape, scale=0.5))
        reference = keras.layers.LSTM(UNITS, return_sequences=True, use_cudnn=False)
        reference.build((None, None, WIDTH))
        reference.set_weights([weight.numpy() for weight in direction.weights])
        references.append(reference)
    return layer, references


def keras_states(references, states, lengths):
    """Row by row without padding, so that no mask is involved."""
    rows = []
    for row, length in enumerate(lengths):
        real = states[row : row + 1, :length]
        both = [references[0](real), references[1](real[:, ::-1])[:, ::-1]]
        rows.append(tf.concat(both, axis=-1)[0])
    return rows


def test_states_are_those_of_keras():
    layer, references = pair()
    for lengths in ((5, 3, 1), (4, 4), (1,), (2, 6)):
        states, mask = case(lengths, max(lengths) + 2)
        found = layer(states, mask)
        for row, expected in enumerate(keras_states(references, states, lengths)):
            np.testing.assert_allclose(found[row, : lengths[row]], expected, atol=1e-6)
        np.testing.assert_array_equal(found[~mask], 0)


def test_gradients_are_those_of_keras():
    lengths = (5, 3, 1)
    layer, references = pair()
    states, mask = case(lengths, 7)
    weights = np.random.default_rng(2).normal(size=(3, 7, 2 * UNITS)).astype("float32")
    tensor = tf.constant(states)
    with tf.GradientTape() as tape:
        tape.watch(tensor)
        loss = tf.reduce_sum(layer(tensor, mask) * weights)
    found = tape.gradient(loss, [tensor, *[w.value for w in layer.weights]])
    with tf.GradientTape() as tape:
        tape.watch(tensor)
        rows = keras_states(references, tensor, lengths)
        loss = tf.add_n(
            [tf.reduce_sum(row * weights[i, : lengths[i]]) for i, row in enumerate(rows)]
        )
    values = [weight.value for reference in references for weight in reference.weights]
    expected = tape.gradient(loss, [tensor, *values])
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)


@pytest.mark.parametrize("shape", [(0, 3), (2, 0), (0, 0), (2, 3)])
def test_nothing_but_padding(shape):
    layer, _ = pair()
    states = tf.fill([*shape, WIDTH], np.nan)
    run = tf.function(lambda s: layer(s, tf.zeros(shape, "bool")))
    assert run(states).shape == (*shape, 2 * UNITS)
    np.testing.assert_array_equal(run(tf.zeros([*shape, WIDTH])), 0)


def test_initialisation_is_the_published_one():
    keras.utils.set_random_seed(0)
    layer = BiLstm(50)
    layer.build((None, None, 70))
    for direction in (layer.forward, layer.backward):
        kernel, recurrent, bias = (weight.numpy() for weight in direction.weights)
        limit = np.sqrt(6 / (70 + 200))  # Glorot
        assert abs(kernel).max() <= limit
        assert kernel.std() == pytest.approx(limit / np.sqrt(3), rel=0.02)
        np.testing.assert_allclose(recurrent @ recurrent.T, np.eye(50), atol=1e-5)
        np.testing.assert_array_equal(bias, np.repeat([0, 1, 0, 0], 50))
    assert np.abs(layer.forward.kernel - layer.backward.kernel).max() > 0.01
