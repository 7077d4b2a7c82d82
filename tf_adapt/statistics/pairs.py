"""Every two cells of a comparison, corrected for how many pairs there are."""

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np

from tf_adapt.statistics.two_cells import (
    Cell,
    cell_of,
    compare_cells,
    enough_items,
    seeds_needed,
)


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's adjusted p-values, in the order given: rejecting those up to α keeps the probability
    of any false rejection below α.

    The k-th smallest of m becomes the largest of `(m − j + 1)·p_(j)` over j ≤ k, at most 1.

    Source: Holm 1979, "A simple sequentially rejective multiple test procedure".
    """
    values = np.asarray(p_values, np.float64)
    order = np.argsort(values, kind="stable")
    raised = np.maximum.accumulate(values[order] * np.arange(len(values), 0, -1))
    adjusted = np.empty_like(values)
    adjusted[order] = np.minimum(raised, 1.0)
    return adjusted.tolist()


def compare_pairs(
    metric: str, statistics: Mapping[str, np.ndarray], level: float = 0.95
) -> list[dict]:
    """`compare_cells` of every two cells, as the report's `pairs`, a before b in the order given.

    Keys: `a`, `b`, `difference`, `interval` (of this pair alone, not simultaneous), `level`, `p`,
    `p_holm` (over all pairs), `decided` (p_holm ≤ 1 − level), `seeds_needed` and `why`:

    - `decided`;
    - `more_seeds`: with `seeds_needed` seeds a cell (None: more than 100) a difference as large as
      the one seen would be decided with probability 0.8, even if no other pair is decided that is
      not now;
    - `more_test_examples`: the chance of the test items hides the difference from any number of
      seeds. So it is with a difference of 0;
    - `one_seed`: how far seeds lead apart is unknown; p and interval cover the test items only, and
      nothing is decided.

    Args:
        metric: as for `item_statistics`.
        statistics: by cell, `[seeds, items, k]`: `item_statistics` of each seed's run.
        level: of the intervals.

    Raises:
        ValueError: the cells differ in their numbers of seeds or items.
    """
    cells = {name: cell_of(metric, values) for name, values in statistics.items()}
    names = list(combinations(cells, 2))
    results = [compare_cells(cells[a], cells[b], level) for a, b in names]
    adjusted = holm([result.p for result in results])
    undecided = sum(p > 1 - level for p in adjusted)
    pairs = []
    for (a, b), result, p_holm in zip(names, results, adjusted, strict=True):
        why, needed = "decided", None
        if len(cells[a].scores) == 1:
            why = "one_seed"
        elif p_holm > 1 - level:
            why, needed = _what_is_needed(cells[a], cells[b], (1 - level) / undecided)
        pairs.append(
            {
                "a": a,
                "b": b,
                "difference": result.difference,
                "interval": None if result.interval is None else list(result.interval),
                "level": level,
                "p": result.p,
                "p_holm": p_holm,
                "decided": why == "decided",
                "seeds_needed": needed,
                "why": why,
            }
        )
    return pairs


def _what_is_needed(a: Cell, b: Cell, level: float) -> tuple[str, int | None]:
    if not enough_items(a, b, level):
        return "more_test_examples", None
    return "more_seeds", seeds_needed(a, b, level)
