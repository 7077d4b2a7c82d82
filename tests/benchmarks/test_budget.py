"""The replay of comparisons within minutes: what its rungs keep and cost."""

import numpy as np
import pytest

from benchmarks import budget
from tf_adapt.paper import FROZEN, TUNED


def test_without_noise_the_best_are_scored_at_the_cost_of_the_rungs(monkeypatch):
    monkeypatch.setattr(budget, "MISLED", (0.0, 0.0))
    monkeypatch.setattr(budget, "NOISE", 0.0)
    names = "abcdefghijkl"
    means = {name: 90.0 - place for place, name in enumerate(names)}
    groups = dict.fromkeys(names, TUNED) | dict.fromkeys("kl", FROZEN)
    seen = budget._misled(np.random.default_rng(0), means, dict.fromkeys(names, 0.0))
    long = dict.fromkeys(names, np.inf)
    chosen, cost = budget._screened(seen, groups, 3, long)
    assert chosen == ("a", "b", "c", "k")
    assert cost == pytest.approx(12 * 3 / 9 + 6 * 2 * 4 / 9)
    # Of 400 steps a rung has at least 100, then 200.
    chosen, cost = budget._screened(seen, groups, 3, dict.fromkeys(names, 400.0))
    assert cost == pytest.approx(12 * 3 / 4 + 6 * 2 / 2)
    curves = {name: [0.01 * place, 0.5, 0.9] for place, name in enumerate("abcdef")}
    chosen, _ = budget._screened(
        budget._on_curves(curves), dict.fromkeys("abcdef", TUNED), 1, dict.fromkeys("abcdef", 400.0)
    )
    assert chosen == tuple("cdef")
    found = [budget._drawn(np.random.default_rng(number), 6, 50.0) for number in range(20)]
    assert all(same and behind == 0 for same, behind, _ in found)
