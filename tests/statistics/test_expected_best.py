"""The expected best of k trials."""

from itertools import product

import numpy as np
import pytest

from tf_adapt.statistics.expected_best import expected_best


def test_it_is_the_mean_over_all_draws():
    scores = [0.3, 0.9, 0.5, 0.5]
    every = [np.mean([max(draw) for draw in product(scores, repeat=k)]) for k in range(1, 5)]
    assert expected_best(scores) == pytest.approx(every)


def test_few():
    assert expected_best([0.7]) == [0.7]
    assert expected_best([]) == []
