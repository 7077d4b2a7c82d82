"""The linear head by pencil, and what it does with texts of nothing but padding."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from tf_adapt.heads.linear import LinearHead, max_over_words, pair_features


def encoded(states, mask, pooled=None):
    text = {"layers": [np.zeros_like(states), states], "mask": mask}
    return text | ({} if pooled is None else {"pooled": pooled})


STATES = np.array([[[1.0, -5.0], [3.0, -4.0], [9.0, 9.0]], [[7.0, 7.0]] * 3], "float32")
MASK = np.array([[True, True, False], [False, False, False]])


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_max_over_words_skips_padding(dtype):
    pooled = max_over_words(tf.cast(STATES, dtype), tf.constant(MASK))
    assert pooled.dtype == dtype
    np.testing.assert_array_equal(tf.cast(pooled, "float32"), [[3.0, -4.0], [0.0, 0.0]])


def test_max_over_no_words_at_all():
    pooled = max_over_words(tf.zeros([2, 0, 3]), tf.zeros([2, 0], "bool"))
    np.testing.assert_array_equal(pooled, np.zeros([2, 3]))


def test_gradient_of_an_all_padding_text_is_finite():
    states = tf.constant(STATES)
    with tf.GradientTape() as tape:
        tape.watch(states)
        value = tf.reduce_sum(max_over_words(states, tf.constant(MASK)))
    expected = np.zeros_like(STATES)
    expected[0, 1] = 1
    np.testing.assert_array_equal(tape.gradient(value, states), expected)


def test_pair_features_by_pencil():
    features = pair_features(tf.constant([[1.0, -2.0]]), tf.constant([[3.0, 4.0]]))
    np.testing.assert_array_equal(features, [[1, -2, 3, 4, 2, 6, 3, -8]])


def test_logits_of_the_pooled_vector_by_pencil():
    head = LinearHead(2, dropout=0.5)
    text = encoded(STATES, MASK, np.array([[1.0, 2.0], [0.0, 1.0]], "float32"))
    head([text])
    head.dense.set_weights([np.array([[1.0, 0.0], [10.0, 100.0]]), np.array([0.5, 0.25])])
    np.testing.assert_array_equal(head([text]), [[21.5, 200.25], [10.5, 100.25]])


def test_regression_gives_one_number_an_example():
    head = LinearHead(1, pooling="max", regression=True)
    text = encoded(STATES, MASK)
    assert head([text]).shape == (2,)
    head.dense.set_weights([np.array([[1.0], [2.0]]), np.array([0.5])])
    np.testing.assert_array_equal(head([text]), [-4.5, 0.5])


def test_two_texts_use_their_features_side_by_side():
    head = LinearHead(3, pooling="max")
    texts = [encoded(STATES, MASK), encoded(STATES * 2, MASK)]
    head(texts)
    assert head.dense.kernel.shape == (8, 3)
    kernel = np.arange(24.0).reshape(8, 3)
    head.dense.set_weights([kernel, np.zeros(3)])
    features = np.array([[3, -4, 6, -8, 3, 4, 18, 32], [0] * 8])
    np.testing.assert_array_equal(head(texts), features @ kernel)


def test_initialisation_is_that_of_bert():
    keras.utils.set_random_seed(0)
    head = LinearHead(50)
    head([{"pooled": np.zeros([1, 400], "float32"), "layers": [], "mask": MASK}])
    kernel, bias = head.dense.get_weights()
    np.testing.assert_array_equal(bias, 0)
    assert abs(kernel).max() <= 0.04  # cut off at two standard deviations
    # A normal distribution cut off there has 0.88 of the standard deviation.
    assert kernel.std() == pytest.approx(0.02 * 0.88, rel=0.02)


def test_a_symbolic_call_builds_every_weight():
    text = {
        "layers": [keras.Input((None, 6))],
        "mask": keras.Input((None,), dtype="bool"),
        "pooled": keras.Input((6,)),
    }
    inputs = {"input_word_ids": keras.Input((None,), dtype="int32")}
    head = LinearHead(2)
    assert head([text], inputs).shape == (None, 2)
    assert len(head.weights) == 2


def test_a_wrong_argument_is_refused():
    with pytest.raises(ValueError, match="pooling: expected one of pooled, max, got 'mean'"):
        LinearHead(2, pooling="mean")
    with pytest.raises(ValueError, match="num_outputs: expected 1 for regression, got 2"):
        LinearHead(2, regression=True)
