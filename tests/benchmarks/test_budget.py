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
    random = np.random.default_rng(0)
    chosen, cost = budget._screened(random, means, dict.fromkeys(names, 0.0), groups, 3)
    assert chosen == ("a", "b", "c", "k")
    assert cost == pytest.approx(12 * 3 / 9 + 6 * 2 * 4 / 9)
    found = [budget._drawn(np.random.default_rng(number), 6, 50.0) for number in range(20)]
    assert all(same and behind == 0 for same, behind, _ in found)
