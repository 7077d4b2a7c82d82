"""Training signal annealing against NumPy: thresholds, and which examples count."""

import numpy as np
import pytest
import tensorflow as tf

import tf_adapt as ta
from tf_adapt.errors import ConfigError

TASK = ta.Task("classification", labels=["a", "b", "c", "d"])
SHARES = {
    "linear": lambda t: t,
    "exp": lambda t: np.exp(5 * (t - 1)),
    "log": lambda t: 1 - np.exp(-5 * t),
}


@pytest.mark.parametrize("release", SHARES)
def test_thresholds(release):
    annealing = ta.SignalAnnealing(TASK, release, 10)
    for step in (0, 3, 5, 10):
        expected = SHARES[release](step / 10) * (1 - 1 / 4) + 1 / 4
        assert float(annealing.threshold(step)) == pytest.approx(expected, rel=1e-5)
    assert float(annealing.threshold(20)) == float(annealing.threshold(10))


@pytest.mark.parametrize("step", [0, 4, 10])
def test_the_loss_is_the_mean_of_the_examples_that_count(step):
    random = np.random.default_rng(2)
    logits, targets = random.normal(0, 2, (30, 4)), random.integers(0, 4, 30)
    annealing = ta.SignalAnnealing(TASK, "linear", 10)
    found = tf.Variable(logits, dtype=tf.float32)
    with tf.GradientTape() as tape:
        loss = annealing.loss(targets, found, step)
    gradient = tape.gradient(loss, found).numpy()

    p = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
    gold = p[np.arange(30), targets]
    kept = gold <= step / 10 * 0.75 + 0.25
    assert 0 < kept.sum() <= 30 and kept.all() == (step == 10)
    assert float(loss) == pytest.approx(-np.log(gold[kept]).mean(), rel=1e-5)
    expected = (p - np.eye(4)[targets]) * kept[:, None] / kept.sum()
    np.testing.assert_allclose(gradient, expected, atol=1e-6)


def test_padding_never_counts_and_none_is_zero():
    tagging = ta.Task("tagging", labels=["O", "B-A", "I-A"])
    annealing = ta.SignalAnnealing(tagging, "linear", 10)
    logits = np.array([[[0.0, 2.0, 1.0], [np.nan] * 3]], "float32")
    p = np.exp([0.0, 2.0, 1.0]) / np.exp([0.0, 2.0, 1.0]).sum()
    assert float(annealing.loss([[0, -1]], logits, 0)) == pytest.approx(-np.log(p[0]), rel=1e-5)
    assert float(annealing.loss([[1, -1]], logits, 0)) == 0.0  # .67 is above a third


def test_what_cannot_be_annealed():
    with pytest.raises(ConfigError, match="one label of several, got regression"):
        ta.SignalAnnealing(ta.Task("regression"), "linear", 10)
    with pytest.raises(ConfigError, match="one label of several, got multilabel"):
        task = ta.Task("multilabel_classification", labels=["a", "b"])
        ta.SignalAnnealing(task, "linear", 10)
    with pytest.raises(ConfigError, match="expected one of linear, exp, log, got 'slow'"):
        ta.SignalAnnealing(TASK, "slow", 10)
    with pytest.raises(ConfigError, match="steps: expected at least 1, got 0"):
        ta.SignalAnnealing(TASK, "log", 0)
