"""How a comparison decides now, and how it did before each look had a level of its own.

Before: every look at 5 % and without memory of others; all seeds count, those that failed and the
one that chose the learning rate; each example is an item; freedom after Satterthwaite.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.special import stdtr, stdtrit

from tf_adapt.statistics.pairs import compare_pairs, holm
from tf_adapt.statistics.relation import PairTest
from tf_adapt.statistics.scores import of_groups, score_of
from tf_adapt.statistics.two_cells import CellSample, sample_of

OLD_LEVEL = 0.05
Looks = Iterable[Mapping[str, np.ndarray]]


@dataclass(frozen=True)
class OldTest:
    """What was known of two cells: a − b, the interval for it, and p."""

    difference: float
    interval: tuple[float, float]
    p: float


@dataclass(frozen=True)
class OldPair:
    """The test of two cells among all pairs; a and b are their names."""

    a: str
    b: str
    test: OldTest
    p_holm: float

    @property
    def difference(self) -> float:
        """a − b."""
        return self.test.difference

    @property
    def decided(self) -> bool:
        """Whether one is ahead."""
        return self.p_holm <= OLD_LEVEL


def decided_before(metric: str, looks: Looks) -> list[OldPair]:
    """The pairs that the first look to decide any decides; `looks` are statistics by cell."""
    for statistics in looks:
        found = [pair for pair in pairs_before(metric, statistics) if pair.decided]
        if found:
            return found
    return []


def decided_after(metric: str, looks: Looks) -> list[PairTest]:
    """As `decided_before`, by `compare_pairs`; before the first decision nothing stands."""
    for number, statistics in enumerate(looks, 1):
        pairs = compare_pairs(metric, statistics, number)
        found = [pair for pair in pairs if pair.decided]
        if found:
            return found
    return []


def pairs_before(metric: str, statistics: Mapping[str, np.ndarray]) -> list[OldPair]:
    """What was known of every two cells."""
    cells = {name: sample_of(metric, rows) for name, rows in statistics.items()}
    names = list(combinations(cells, 2))
    tests = [old_test(cells[a], cells[b]) for a, b in names]
    adjusted = holm([test.p for test in tests])
    return [OldPair(a, b, test, p) for (a, b), test, p in zip(names, tests, adjusted, strict=True)]


def for_first(pairs: Iterable[OldPair | PairTest]) -> bool:
    """Whether the first of two cells was decided to be ahead."""
    return any(pair.difference > 0 for pair in pairs)


def named(statistics: Iterable[np.ndarray]) -> dict[str, np.ndarray]:
    """By cell, for `compare_pairs`; cells without a seed are no part of it."""
    cells = {f"cell {number}": rows for number, rows in enumerate(statistics)}
    return {name: rows for name, rows in cells.items() if len(rows)}


def grouped(statistics: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Items that belong together added up, `[cells, seeds, items, k]` → `[…, groups, k]`."""
    cells, seeds, items, width = statistics.shape
    flat = statistics.transpose(2, 0, 1, 3).reshape(items, -1)
    sums = of_groups(flat, groups).reshape(-1, cells, seeds, width)
    return sums.transpose(1, 2, 0, 3)


def scores(metric: str, statistics: np.ndarray) -> np.ndarray:
    """Shapes: `[…, items, k]` → `[…]`."""
    return score_of(metric, statistics.sum(-2))


def old_freedom(shares: np.ndarray, by_item: float, variance: float, seeds: int, items: int):
    """Satterthwaite's, each cell's seeds apart; `shares` are what they add to the variance."""
    spread = (shares**2).sum() / (seeds - 1) + by_item**2 / (items - 1)
    return variance**2 / spread


def old_test(a: CellSample, b: CellSample) -> OldTest:
    """The test of two cells with as many seeds in both."""
    seeds, items = len(a.scores), len(a.items)
    shares = np.array([a.seed_variance, b.seed_variance]) / seeds
    by_item = np.var(a.items - b.items, ddof=1) / items
    residual = (a.residual + b.residual) / (seeds * items)
    variance = shares.sum() + by_item - min(shares.sum(), by_item, residual)
    difference = float(a.scores.mean() - b.scores.mean())
    if variance <= 0:
        return OldTest(difference, (difference, difference), 1.0)
    freedom, error = old_freedom(shares, by_item, variance, seeds, items), np.sqrt(variance)
    half = error * stdtrit(freedom, 1 - OLD_LEVEL / 2)
    p = float(2 * stdtr(freedom, -abs(difference) / error))
    return OldTest(difference, (difference - half, difference + half), p)
