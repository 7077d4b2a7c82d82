"""Consistency losses and their masks against NumPy in float64."""

import numpy as np
import pytest
import tensorflow as tf

import tf_adapt as ta
from tf_adapt.tasks.divergences import consistency_losses, divergence

CLASSES = ta.Task("classification", labels=["a", "b", "c"])
SETS = ta.Task("multilabel_classification", labels=["a", "b", "c"])


def softmax(logits):
    powers = np.exp(logits - logits.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def kl(wanted, given):
    return (wanted * np.log(wanted / given)).sum(-1)


@pytest.fixture
def logits():
    random = np.random.default_rng(3)
    return random.normal(0, 2, (40, 3)), random.normal(0, 2, (40, 3))


@pytest.mark.parametrize("temperature", [None, 0.4])
@pytest.mark.parametrize("confidence", [None, 0.8])
def test_one_label_of_several(logits, temperature, confidence):
    """The target is sharpened, the threshold sees the probabilities that are not."""
    wanted, given = logits
    losses, counts = consistency_losses(CLASSES, wanted, given, temperature, confidence)
    expected = kl(softmax(wanted / (temperature or 1)), softmax(given))
    above = softmax(wanted).max(-1) > (confidence or 0)
    assert confidence is None or 0 < above.sum() < len(above)
    np.testing.assert_array_equal(counts, above)
    np.testing.assert_allclose(losses, expected * above, rtol=1e-4, atol=1e-6)


def test_sets_of_labels_have_two_outcomes_each(logits):
    wanted, given = logits
    losses, counts = consistency_losses(SETS, wanted, given, 0.5, 0.9)
    expected, above = np.zeros(40), np.zeros(40)
    for label in range(3):
        p, sharp, q = (1 / (1 + np.exp(-one[:, label])) for one in (wanted, wanted / 0.5, given))
        is_above = np.maximum(p, 1 - p) > 0.9
        both = [np.stack([one, 1 - one], axis=-1) for one in (sharp, q)]
        expected += is_above * kl(*both) / 3
        above += is_above / 3
    np.testing.assert_allclose(counts, above, rtol=1e-6)
    np.testing.assert_allclose(losses, expected, rtol=1e-4, atol=1e-6)


def test_the_threshold_itself_is_not_above():
    """Two equal logits: the largest probability is exactly one half."""
    logits = np.zeros((1, 2))
    task = ta.Task("classification", labels=["a", "b"])
    assert consistency_losses(task, logits, logits + [1.0, 0.0], None, 0.5)[1][0] == 0
    assert consistency_losses(task, logits, logits + [1.0, 0.0], None, 0.499)[1][0] == 1


def test_rounding_gives_no_negative_loss_and_keeps_the_gradient():
    random = np.random.default_rng(0)
    wanted = tf.constant(random.normal(0, 3, (5000, 3)), tf.float32)
    given = tf.Variable(wanted + random.normal(0, 1e-4, (5000, 3)).astype("float32"))
    with tf.GradientTape() as tape:
        losses = divergence(wanted, given)
    assert float(tf.reduce_min(losses)) >= 0.0
    expected = tf.nn.softmax(given) - tf.nn.softmax(wanted)
    np.testing.assert_allclose(tape.gradient(losses, given), expected, atol=1e-6)
