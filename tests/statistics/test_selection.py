"""Greedy choices: pencil examples, SciPy's optimum, never below the best alone."""

import numpy as np
import pytest
from scipy.optimize import minimize

from tf_adapt.statistics.selection import greedy_members, greedy_weights


def test_weights_of_a_pencil_example():
    """Alone 0.5, 0.6, 0.1. Best first step: the second; then the first beside it; then no gain."""
    table = {(0.5, 0.5, 0.0): 0.8, (0.0, 1.0, 0.0): 0.6, (1.0, 0.0, 0.0): 0.5}
    asked = []

    def score(weights):
        asked.append(weights)
        return table.get(weights, 0.1)

    assert greedy_weights(score, 3, steps=4) == (0.5, 0.5, 0.0)
    assert asked[:3] == [(1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)]
    assert len(asked) == len(set(asked))  # nothing is scored twice


def test_weights_approach_the_optimum_of_a_convex_score():
    """Squared error of a mean of five predictions: SciPy's optimum on the simplex."""
    random = np.random.default_rng(3)
    predictions, target = random.normal(size=(5, 40)), random.normal(size=40)
    predictions[1:3] += target

    def error(weights):
        return float(((np.asarray(weights) @ predictions - target) ** 2).mean())

    sums_to_one = {"type": "eq", "fun": lambda weights: weights.sum() - 1}
    best = minimize(error, np.full(5, 0.2), bounds=[(0, 1)] * 5, constraints=[sums_to_one])
    found = greedy_weights(lambda weights: -error(weights), 5)
    assert sum(found) == pytest.approx(1)
    np.testing.assert_allclose(found, best.x, atol=0.05)
    assert error(found) == pytest.approx(best.fun, rel=0.01)


def test_weights_are_never_below_the_best_alone():
    """Whatever the score of a mean is."""
    random = np.random.default_rng(0)
    for count in (1, 2, 5):
        for _ in range(50):
            alone, known = random.random(count), {}

            def score(weights, alone=alone, known=known):
                if max(weights) == 1:
                    return alone[weights.index(1)]
                return known.setdefault(weights, random.random() * 0.8)

            assert score(greedy_weights(score, count)) >= alone.max()


def test_members_of_a_pencil_example():
    """In the order 2, 0, 3, 1: 0 falls, 3 is equal and stays, 1 rises."""
    alone = [0.7, 0.2, 0.8, 0.5]
    means = {(2, 0): 0.79, (2, 3): 0.8, (2, 3, 1): 0.9}
    assert greedy_members(lambda members: means[tuple(members)], alone) == [2, 3, 1]
    assert greedy_members(lambda members: 0.0, alone) == [2]


def test_one_step_takes_the_best_alone():
    assert greedy_weights(lambda weights: weights[1], 3, steps=1) == (0, 1, 0)


def test_no_members_are_refused():
    with pytest.raises(ValueError, match="at least one member and one step, got 0 and 20"):
        greedy_weights(lambda weights: 0.0, 0)
    with pytest.raises(ValueError, match="at least one member, got none"):
        greedy_members(lambda members: 0.0, [])
