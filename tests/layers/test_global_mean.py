"""Weights of examples in a mean over the batch: which shapes fit."""

import numpy as np
import pytest
import tensorflow as tf

from tf_adapt.errors import ConfigError
from tf_adapt.layers.crf import CRF
from tf_adapt.layers.global_mean import global_mean

BY_WORD = np.array([[1.0, 2.0, 4.0], [8.0, 16.0, 32.0]], "float32")
REAL = np.array([[True, True, True], [True, False, False]])


@pytest.mark.parametrize(
    ("losses", "weights", "expected"),
    [
        (BY_WORD, [1, 10], (7 + 80) / 4),
        (BY_WORD, [[1], [10]], (7 + 80) / 4),
        (BY_WORD, [[1, 0, 2], [3, 5, 5]], (1 + 8 + 24) / 4),
        (BY_WORD[:, 0], [1, 10], (1 + 80) / 2),
        (BY_WORD[:, 0], [[1], [10]], (1 + 80) / 2),
    ],
)
@pytest.mark.parametrize("known", [True, False])
def test_one_for_each_example_or_each_word(losses, weights, expected, known):
    real = REAL if losses.ndim == 2 else REAL[:, 0]

    def specs(*values):
        return [tf.TensorSpec([None] * np.ndim(one), tf.as_dtype(one.dtype)) for one in values]

    weights = np.array(weights, "float32")
    found = global_mean
    if not known and weights.shape[1:] != (1,):  # a width of 1 must be known
        found = tf.function(global_mean, input_signature=specs(losses, real, weights))
    assert float(found(losses, real, weights)) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("losses", "shape"),
    [
        (BY_WORD, (3,)),
        (BY_WORD, (3, 2)),
        (BY_WORD, (2, 2)),
        (BY_WORD, ()),
        (BY_WORD[:, 0], (2, 3)),
        (BY_WORD[:, 0], (1, 2)),
        (BY_WORD[:, 0], (3,)),
    ],
)
def test_other_shapes_are_refused(losses, shape):
    with pytest.raises(ConfigError, match=r"sample_weight: expected one weight for each example"):
        global_mean(losses, losses > 0, np.ones(shape, "float32"))


@pytest.mark.parametrize("reduction", ["mean", "sum"])
def test_a_crf_has_one_loss_a_sentence(reduction):
    crf, random = CRF(2, reduction=reduction), np.random.default_rng(0)
    logits = random.normal(size=(3, 4, 2)).astype("float32")
    targets = np.zeros((3, 4), "int32")
    plain = float(crf.loss(targets, logits))
    assert float(crf.loss(targets, logits, np.ones(3))) == pytest.approx(plain)
    assert float(crf.loss(targets, logits, 2 * np.ones((3, 1)))) == pytest.approx(2 * plain)
    with pytest.raises(ConfigError, match="under a CRF a sentence has one loss"):
        crf.loss(targets, logits, np.ones((3, 4)))
