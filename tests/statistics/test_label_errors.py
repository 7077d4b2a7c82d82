"""Likely label errors, against what cleanlab 2.9.0 lists of the same arrays."""

import numpy as np
import pytest

from tf_adapt.statistics.label_errors import label_errors

# `find_label_issues(given, p, filter_by="confident_learning",
# return_indices_ranked_by="normalized_margin")`
CLEANLAB = [[], [2, 54, 38, 59, 44, 13, 27, 41, 21, 33, 46], [46, 18, 48, 7, 45, 5]]


@pytest.mark.parametrize("seed", range(3))
def test_the_list_of_cleanlab(seed):
    random = np.random.default_rng(seed)
    count, labels = 60, 3 + seed
    true = random.integers(0, labels, count)
    probabilities = random.dirichlet(np.full(labels, 0.5), count) * 0.6
    probabilities[np.arange(count), true] += 0.4
    probabilities /= probabilities.sum(1, keepdims=True)
    given = np.where(random.random(count) < 0.15, random.integers(0, labels, count), true)
    found = label_errors(given, probabilities)
    assert [row for row, _, _ in found] == CLEANLAB[seed]
    for row, likely, score in found:
        assert likely == probabilities[row].argmax()
        assert score == probabilities[row, given[row]] - probabilities[row].max() < 0


def test_a_label_that_nobody_has_and_equal_probabilities():
    given = np.array([0, 0, 1, 1])
    assert label_errors(given, np.full((4, 3), 1 / 3)) == []
    sure = np.array([[0.1, 0.9, 0.0], [0.9, 0.1, 0.0], [0.0, 1.0, 0.0], [0.05, 0.0, 0.95]])
    assert label_errors(given, sure) == [(0, 1, pytest.approx(-0.8))]
