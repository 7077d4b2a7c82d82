"""The ESIM head: its sizes by pencil, joint and separate texts, and texts without words."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from tf_adapt.heads.esim import ESIM

UNITS, WIDTH = 3, 5
RANDOM = np.random.default_rng(0)
A = RANDOM.normal(size=(2, 4, WIDTH)).astype("float32")
B = RANDOM.normal(size=(2, 6, WIDTH)).astype("float32")


def text(states, lengths):
    mask = np.arange(states.shape[1]) < np.array(lengths)[:, None]
    return {"layers": [states / 2, states], "mask": mask}


PAIR = [text(A, (4, 2)), text(B, (3, 6))]


def randomised(head, *arguments):
    head(*arguments)
    random = np.random.default_rng(1)
    for weight in head.weights:
        weight.assign(random.normal(size=weight.shape, scale=0.3))
    return head


def test_the_published_sizes():
    head = ESIM(3)
    layers = [keras.KerasTensor((None, None, 1024))] * 3
    mask = keras.KerasTensor((None, None), "bool")
    logits = head([{"layers": layers, "mask": mask}] * 2)
    assert logits.shape == (None, 3)
    lstms = 2 * (1024 + 300 + 1) * 1200 + 2 * (300 + 300 + 1) * 1200
    dense = 2 * (2400 + 1) * 300 + (300 + 1) * 3
    assert head.count_params() == (3 + 1) + lstms + dense


def test_a_joint_row_gives_what_its_two_texts_give():
    head = randomised(ESIM(2, units=UNITS), PAIR)
    a, b = A[:1, :2], B[:1, :3]
    junk = np.full((1, 1, WIDTH), 50.0, "float32")
    row = np.concatenate([junk, a, junk, b, junk], axis=1)
    inputs = {
        "input_mask": np.ones((1, 8), "int32"),
        "input_type_ids": np.array([[0, 0, 0, 0, 1, 1, 1, 1]], "int32"),
    }
    found = head([text(row, [8])], inputs)
    np.testing.assert_allclose(found, head([text(a, [2]), text(b, [3])]), rtol=1e-5)


def test_equal_texts_have_equal_halves_of_features():
    """Both texts go through the same weights: swapping them swaps the halves of the pools."""
    head = randomised(ESIM(2, units=UNITS), PAIR)
    found = head(PAIR)
    kernel, bias = head.hidden.get_weights()
    first, second = np.split(kernel, 2)
    head.hidden.set_weights([np.concatenate([second, first]), bias])
    np.testing.assert_allclose(head(PAIR[::-1]), found, rtol=1e-5)


def test_words_of_a_text_share_one_dropout_mask():
    head = ESIM(2, units=UNITS)
    for dropout in head.word_dropouts:
        dropped = dropout(np.ones((4, 6, 50), "float32"), training=True).numpy()
        np.testing.assert_array_equal(dropped, np.repeat(dropped[:, :1], 6, axis=1))
        assert set(np.unique(dropped)) == {0.0, 2.0}
        assert (dropped[0] != dropped[1]).any()


@pytest.mark.parametrize("lengths", [((4, 0), (3, 6)), ((4, 0), (3, 0)), ((0, 0), (0, 0))])
def test_texts_without_words_have_finite_logits_and_gradients(lengths):
    head = randomised(ESIM(2, units=UNITS), PAIR)
    with tf.GradientTape() as tape:
        logits = head([text(A, lengths[0]), text(B, lengths[1])], training=True)
        loss = tf.reduce_sum(logits)
    assert np.isfinite(logits).all()
    for gradient in tape.gradient(loss, [weight.value for weight in head.weights]):
        assert gradient is None or np.isfinite(gradient).all()


def test_regression_gives_the_first_of_one():
    head = randomised(ESIM(1, units=UNITS), PAIR)
    regression = ESIM(1, units=UNITS, regression=True)
    regression(PAIR)
    regression.set_weights(head.get_weights())
    np.testing.assert_array_equal(regression(PAIR), head(PAIR)[:, 0])


def test_initialisation_is_glorots():
    keras.utils.set_random_seed(0)
    head = ESIM(2, units=50)
    head(PAIR)
    for dense, fans in ((head.projection, 450), (head.hidden, 450), (head.dense, 52)):
        kernel, bias = dense.get_weights()
        limit = np.sqrt(6 / fans)
        assert 0.9 * limit < abs(kernel).max() <= limit
        np.testing.assert_array_equal(bias, 0)
