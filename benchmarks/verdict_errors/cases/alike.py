"""Cells that are called alike, within a point."""

from itertools import combinations, product

from benchmarks.verdict_errors.columns import Share
from benchmarks.verdict_errors.draws import TestSet, alone, scores_of_runs
from benchmarks.verdict_errors.rules import named, pairs_before
from tf_adapt.statistics.pairs import MARGIN, compare_pairs

ABOUT = (
    "Accuracy; cells that agree on most items, whose expected scores differ by *difference* "
    "points (of four cells, two are ahead of two), and how often a pair is called alike. At a "
    "difference of exactly one point that is false: after, at most 1.5 % of one look at all pairs "
    "(half of its level), 2.5 % of five looks. Before, alike was an open pair whose 95 % interval "
    "lay within a point. *both*: decided and alike, which the verdict calls alike."
)
COLUMNS = {
    "falsely alike before": Share(2.5),
    "falsely alike after": Share(1.5),
    "falsely alike after, five looks": Share(2.5),
    "alike before": Share(),
    "alike after": Share(),
    "decided after": Share(),
    "both after": Share(),
}
ROWS = [
    {
        "difference": difference,
        "cells": cells,
        "deviations": deviation,
        "items": items,
        "seeds": seeds,
    }
    for difference, cells, deviation, items, seeds in (
        *product([1.0], [2], (0.1, 0.3), (1000, 5000, 20000), [(3,)]),
        *product([1.0], [2], [0.3], [5000], [(2,), (5,)]),
        (1.0, 4, 0.3, 5000, (3,)),
        (1.0, 2, 0.3, 5000, (3, 5, 7, 9, 11)),
        *product([0.0], [2], (0.1, 0.3), (1000, 5000, 20000), [(3,)]),
        (0.0, 2, 0.3, 5000, (5,)),
        (0.0, 4, 0.3, 5000, (3,)),
        *product([0.3], [2], [0.03], (5000, 20000, 50000), [(3,)]),
    )
]


def simulated(random, difference, cells, deviations, items, seeds) -> dict[str, bool | None]:
    """One comparison."""
    gains = [difference if cell < cells // 2 else 0.0 for cell in range(cells)]
    test = TestSet(random, "accuracy", alone(items, own=0.2, noise=0.2), cells)
    runs = test.runs(scores_of_runs(random, "accuracy", max(seeds), [deviations] * cells, gains))
    statistics = [named(runs[:, :count]) for count in seeds]
    looks = [compare_pairs("accuracy", rows, look) for look, rows in enumerate(statistics, 1)]
    old = [_alike_before(rows, gains) for rows in statistics]
    alike = any(pair.alike for look in looks for pair in _apart(look, gains))
    false = difference * 0.01 >= MARGIN
    return {
        "falsely alike before": any(old) if false else None,
        "falsely alike after": alike if false and len(seeds) == 1 else None,
        "falsely alike after, five looks": alike if false and len(seeds) > 1 else None,
        "alike before": None if false else any(old),
        "alike after": None if false else alike,
        "decided after": any(pair.decided for look in looks for pair in look),
        "both after": any(pair.alike and pair.decided for look in looks for pair in look),
    }


def _apart(pairs: list, gains: list[float]) -> list:
    """Those of cells that differ, if any do."""
    order = combinations(range(len(gains)), 2)
    found = [p for p, (a, b) in zip(pairs, order, strict=True) if gains[a] != gains[b]]
    return found or pairs


def _alike_before(statistics: dict, gains: list[float]) -> bool:
    return any(
        not pair.decided and all(abs(bound) <= MARGIN for bound in pair.test.interval)
        for pair in _apart(pairs_before("accuracy", statistics), gains)
    )
