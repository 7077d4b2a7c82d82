"""Random effects against formulas written out, partial conjunction against its definition."""

import itertools

import numpy as np
import pytest
from scipy import optimize, stats

from tf_adapt.statistics.random_effects import found_in_at_least, random_effects

pytest.importorskip("statsmodels")
# Differences and standard errors; the last have no spread beyond their errors.
STUDIES = {
    "spread": ([0.03, -0.01, 0.08, 0.05], [0.01, 0.02, 0.015, 0.01]),
    "two": ([0.02, 0.09], [0.01, 0.01]),
    "none": ([0.020, 0.022, 0.018], [0.02, 0.03, 0.02]),
}


@pytest.mark.parametrize("name", STUDIES)
def test_by_hand(name):
    d, s = map(np.array, STUDIES[name])
    k = len(d)

    def excess(tau2):
        w = 1 / (s**2 + tau2)
        return (w * (d - (w * d).sum() / w.sum()) ** 2).sum() - (k - 1)

    tau2 = optimize.brentq(excess, 0, 1) if excess(0) > 0 else 0.0
    w = 1 / (s**2 + tau2)
    mean = (w * d).sum() / w.sum()
    variance = max((w * (d - mean) ** 2).sum() / (k - 1), 1.0) / w.sum()
    half = stats.t.isf(0.025, k - 1) * np.sqrt(variance)
    found = random_effects(d, s)
    assert found.estimate == pytest.approx(mean, abs=1e-6)
    assert found.tau**2 == pytest.approx(tau2, abs=1e-7)
    assert found.interval == pytest.approx((mean - half, mean + half), abs=1e-5)
    t = abs(mean) / np.sqrt(variance)
    assert found.p == pytest.approx(2 * stats.t.sf(t, k - 1), abs=1e-5)
    if k == 2:
        assert found.prediction is None
    else:
        half = stats.t.isf(0.025, k - 2) * np.sqrt(tau2 + variance)
        assert found.prediction == pytest.approx((mean - half, mean + half), abs=1e-4)


def test_one_study_is_not_pooled():
    with pytest.raises(ValueError, match="at least two studies, got 1"):
        random_effects([0.1], [0.01])


@pytest.mark.parametrize("seed", range(20))
def test_partial_conjunction_is_that_of_every_subset(seed):
    """H(u), fewer than u effects, holds if some k − u + 1 nulls are all true: it is rejected where
    each such set is, by Bonferroni."""
    p = np.random.default_rng(seed).uniform(0, 0.06, 5)
    rejected = [
        all(
            len(some) * min(some) <= 0.05
            for some in map(list, itertools.combinations(p, len(p) - u + 1))
        )
        for u in range(1, len(p) + 1)
    ]
    count = next((u for u, one in enumerate(rejected) if not one), len(p))
    assert found_in_at_least(p) == count
