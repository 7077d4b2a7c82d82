"""Decision thresholds of multilabel classification."""

import numpy as np

THRESHOLD = 0.5


def chosen(probabilities, thresholds):
    """The predicted labels: those whose probability is at least their threshold.

    NaN predicts no label.

    Shapes: probabilities `[…, labels] float32` (of NumPy or TensorFlow), thresholds `[labels]` or
    None for 0.5 → `[…, labels] bool`.
    """
    return probabilities >= np.asarray(THRESHOLD if thresholds is None else thresholds, "float32")


def best_thresholds(scores: np.ndarray, targets: np.ndarray) -> tuple[float, ...]:
    """For each label the threshold with the highest F1 on these examples.

    0.5 if no other is better; else the midpoint between the two scores that it separates, of
    equally good ones the nearest to 0.5. A label that no example has keeps 0.5.

    Shapes: scores `[examples, labels]` probabilities, targets `[examples, labels]` 0 or 1 →
    `labels` numbers.

    Raises:
        ValueError: the shapes differ, there is no example, or a score is no probability.
    """
    scores, targets = np.asarray(scores, "float64"), np.asarray(targets, "float64")
    if scores.shape != targets.shape or scores.ndim != 2 or not len(scores):
        raise ValueError(
            "scores and targets: expected two arrays [examples, labels] of one shape, with at "
            f"least one example, got {scores.shape} and {targets.shape}"
        )
    if not ((scores >= 0) & (scores <= 1)).all():
        raise ValueError("scores: expected probabilities, from 0 to 1, got others")
    return tuple(map(_best_threshold, scores.T, targets.T))


def _best_threshold(scores: np.ndarray, targets: np.ndarray) -> float:
    if not targets.any():
        return THRESHOLD
    values, index = np.unique(scores, return_inverse=True)
    # With the k-th value as threshold: the numbers of predicted and of correct examples.
    count = np.cumsum(np.bincount(index)[::-1])[::-1]
    right = np.cumsum(np.bincount(index, targets)[::-1])[::-1]
    f1 = 2 * right / (count + targets.sum())
    lower = np.concatenate([[0.0], values[:-1]])
    between = ((lower + values) / 2).astype("float32").astype("float64")
    # Adjacent float32 numbers have no midpoint; a threshold of 0 would always predict the label.
    between = np.where(between > lower, between, values)
    between = np.where((lower < THRESHOLD) & (values >= THRESHOLD), THRESHOLD, between)
    best = np.flatnonzero((f1 == f1.max()) & (between > 0))
    if not len(best):
        return THRESHOLD
    return float(between[best[np.argmin(np.abs(between[best] - THRESHOLD))]])
