"""Thresholds against trying every one, and by pencil."""

import numpy as np
import pytest
import tensorflow as tf
from sklearn.metrics import f1_score

from tf_adapt.tasks.thresholds import best_thresholds, chosen


def f1(targets, scores, threshold):
    return f1_score(targets.ravel(), chosen(scores, [threshold]).ravel(), zero_division=0)


def test_no_threshold_is_better_than_the_best():
    random = np.random.default_rng(0)
    for _ in range(20):
        targets = random.random((30, 1)) < 0.3
        noise = random.normal(size=(30, 1))
        scores = (1 / (1 + np.exp(-(2 * targets - 2 + noise)))).astype("float32").round(1)
        (threshold,) = best_thresholds(scores, targets)
        # At every score, and just above it.
        tried = {value for score in scores.ravel() for value in (score, score + 1e-4)}
        best = max(f1(targets, scores, value) for value in tried)
        assert f1(targets, scores, threshold) == pytest.approx(best)


def test_by_pencil():
    scores = np.array([[0.1, 0.9, 0.2, 0.3], [0.3, 0.2, 0.3, 0.3], [0.2, 0.7, 0.4, 0.3]])
    targets = np.array([[0, 1, 0, 1], [1, 0, 0, 1], [1, 1, 0, 0]])
    # Between 0.1 and 0.2; 0.5 parts as well as any; no example has it; below all.
    assert best_thresholds(scores, targets) == pytest.approx((0.15, 0.5, 0.5, 0.15))


def test_neighbours_in_float32_are_parted():
    low = np.float32(0.3)
    high = np.nextafter(low, np.float32(1))
    thresholds = best_thresholds(np.array([[low], [high]]), np.array([[0], [1]]))
    assert chosen(np.array([[low], [high]]), thresholds).tolist() == [[False], [True]]
    assert best_thresholds(np.zeros((2, 1)), np.ones((2, 1))) == (0.5,)


@pytest.mark.parametrize("convert", [np.asarray, tf.constant])
def test_at_the_threshold_a_label_is_chosen_and_nan_chooses_none(convert):
    probabilities = convert(np.array([[0.5, 0.25], [0.49, np.nan]], "float32"))
    assert np.asarray(chosen(probabilities, None)).tolist() == [[True, False], [False, False]]
    assert np.asarray(chosen(probabilities, (0.6, 0.2))).tolist() == [[False, True], [False, False]]


def test_what_is_no_score_is_refused():
    for scores, targets in (
        (np.zeros((2, 1)), np.zeros((1, 2))),
        (np.zeros((0, 2)), np.zeros((0, 2))),
        (np.zeros(2), np.zeros(2)),
    ):
        with pytest.raises(ValueError, match=r"two arrays \[examples, labels\] of one shape"):
            best_thresholds(scores, targets)
    for value in (np.nan, -0.1, 1.5):
        with pytest.raises(ValueError, match="expected probabilities"):
            best_thresholds(np.array([[value]]), np.array([[1]]))
