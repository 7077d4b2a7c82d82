"""How a comparison decides now, and how it did before each look had a level of its own.

Before: every look at 5 % and without memory of others; all seeds count, those that failed and the
one that chose the learning rate; each example is an item.
"""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from tf_adapt.statistics.pairs import compare_pairs
from tf_adapt.statistics.scores import of_groups, score_of

OLD_LEVEL = 0.05


def tested(metric: str, looks: Iterable[Mapping[str, np.ndarray]]) -> list[list[dict]]:
    """The pairs of each look, as long as none before has decided (nothing stands yet).

    The p-values are the same before and after: that of the test of two cells and Holm's.
    """
    return [compare_pairs(metric, statistics, n) for n, statistics in enumerate(looks, 1)]


def decided_before(looks: Sequence[list[dict]]) -> list[dict]:
    """The pairs that the first look to decide any decides."""
    return _first(looks, lambda p: p["p_holm"] is not None and p["p_holm"] <= OLD_LEVEL)


def decided_after(looks: Sequence[list[dict]]) -> list[dict]:
    """The pairs that the first look to decide any decides."""
    return _first(looks, lambda pair: pair["decided"])


def for_first(pairs: Sequence[dict]) -> bool:
    """Whether the first of two cells was decided to be ahead."""
    return any(pair["difference"] > 0 for pair in pairs)


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


def _first(looks, decides) -> list[dict]:
    for pairs in looks:
        found = [pair for pair in pairs if decides(pair)]
        if found:
            return found
    return []
