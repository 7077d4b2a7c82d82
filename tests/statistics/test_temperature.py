"""The temperature against the one that made the data, and a search over a grid."""

import numpy as np
import pytest
from scipy.special import log_softmax, softmax

from tf_adapt.statistics.temperature import HIGHEST, best_temperature


@pytest.mark.parametrize("true", [0.5, 1.0, 2.5])
def test_the_temperature_of_the_data_is_found(true):
    random = np.random.default_rng(0)
    logits = random.normal(size=(6000, 4)) * 3
    chances = softmax(logits / true, axis=1).cumsum(axis=1)
    targets = (random.random((6000, 1)) > chances).sum(axis=1)
    found = best_temperature(softmax(logits, axis=1), targets)
    grid = np.arange(0.3, 4, 0.01)
    losses = [-log_softmax(logits / t, axis=1)[np.arange(6000), targets].mean() for t in grid]
    assert found == pytest.approx(grid[np.argmin(losses)], abs=0.011)
    assert found == pytest.approx(true, rel=0.1)


def test_where_no_temperature_is_best():
    """All right: the lower the better; nothing known: the higher."""
    sure = softmax(np.eye(3) * 2, axis=1)
    assert best_temperature(sure, np.arange(3)) < 0.1
    assert best_temperature(sure[[0, 0, 0]], np.arange(3)) > 0.9 * HIGHEST
