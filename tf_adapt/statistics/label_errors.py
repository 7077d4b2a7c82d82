"""Likely label errors, from the answers of models that did not see the examples. Pure NumPy."""

import numpy as np


def label_errors(given: np.ndarray, probabilities: np.ndarray) -> list[tuple[int, int, float]]:
    """Examples whose given label is probably wrong, the most probable first, each with the likely
    label and a score: `p(given) − max of the others`, from −1 (surely wrong) to 0.

    A label is confident of an example where its probability is at least the mean probability of
    this label over the examples that have it. An example is listed where the most probable of its
    confident labels is not the given one, nor the given one the most probable of all: it is off the
    diagonal of the confident joint.

    Shapes: given `[examples] int`; probabilities `[examples, labels]`, out of sample.

    Source: Northcutt, Jiang, Chuang (2021), https://doi.org/10.1613/jair.1.12125, ranked by its
    normalised margin.
    """
    rows, counts = np.arange(len(given)), np.bincount(given, minlength=probabilities.shape[1])
    of_given = probabilities[rows, given]
    sums = np.bincount(given, weights=of_given, minlength=probabilities.shape[1])
    thresholds = np.where(counts > 0, sums / np.maximum(counts, 1), np.inf)
    # Means of equal numbers may be above them by rounding.
    confident = np.where(probabilities >= thresholds - 1e-9, probabilities, -np.inf)
    likely = confident.argmax(1)
    others = probabilities.copy()
    others[rows, given] = -np.inf
    margins = of_given - others.max(1)
    listed = np.isfinite(confident.max(1)) & (likely != given) & (margins < 0)
    order = np.flatnonzero(listed)
    order = order[np.argsort(margins[order], kind="stable")]
    return [(int(row), int(likely[row]), float(margins[row])) for row in order]
