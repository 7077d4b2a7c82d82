"""The alignment of two texts against NumPy, and where there is nothing to attend to."""

import numpy as np
import tensorflow as tf

from tf_adapt.layers.soft_alignment import enhanced, masked_softmax, soft_alignment

RANDOM = np.random.default_rng(0)
A = RANDOM.normal(size=(2, 3, 4)).astype("float32")
B = RANDOM.normal(size=(2, 5, 4)).astype("float32")


def softmax(scores):
    return np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)


def test_softmax_by_pencil():
    scores = np.log([[1.0, 3.0, 6.0]])
    np.testing.assert_allclose(masked_softmax(scores, [[True, True, False]]), [[0.25, 0.75, 0.0]])
    np.testing.assert_array_equal(masked_softmax(scores, [[False] * 3]), [[0.0] * 3])
    assert masked_softmax(tf.zeros([2, 0]), tf.zeros([2, 0], "bool")).shape == (2, 0)


def test_softmax_of_large_scores_stays_finite():
    found = masked_softmax(np.array([[1e4, 1e4, -1e4]], "float32"), [[True] * 3])
    np.testing.assert_allclose(found, [[0.5, 0.5, 0.0]])


def test_every_word_gets_what_it_attends_to():
    lengths_a, lengths_b = (3, 1), (2, 5)
    mask_a = np.arange(3) < np.array(lengths_a)[:, None]
    mask_b = np.arange(5) < np.array(lengths_b)[:, None]
    found_a, found_b = soft_alignment(A, B, mask_a, mask_b)
    for row, (n, m) in enumerate(zip(lengths_a, lengths_b, strict=True)):
        a, b = A[row, :n].astype("float64"), B[row, :m].astype("float64")
        np.testing.assert_allclose(found_a[row, :n], softmax(a @ b.T) @ b, rtol=1e-5)
        np.testing.assert_allclose(found_b[row, :m], softmax(b @ a.T) @ a, rtol=1e-5)


def test_nothing_to_attend_to_gives_zeros_and_finite_gradients():
    a, nobody = tf.constant(A), np.zeros((2, 5), bool)
    with tf.GradientTape() as tape:
        tape.watch(a)
        found, _ = soft_alignment(a, B, np.ones((2, 3), bool), nobody)
        loss = tf.reduce_sum(found)
    np.testing.assert_array_equal(found, np.zeros_like(A))
    assert np.isfinite(tape.gradient(loss, a)).all()


def test_enhancement_by_pencil():
    found = enhanced(tf.constant([[[1.0]]]), tf.constant([[[3.0]]]))
    np.testing.assert_array_equal(found, [[[1.0, 3.0, -2.0, 3.0]]])
