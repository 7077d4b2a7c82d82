"""How many seeds would probably decide between two cells."""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, stdtrit

from tf_adapt.statistics.relation import FEWEST_REPEATS, FEWEST_SEEDS
from tf_adapt.statistics.two_cells import (
    ROUNDING,
    CellSample,
    check_items,
    degrees_of_freedom,
    observed_variances,
    seeds_of,
)


def seeds_needed(
    a: CellSample, b: CellSample, level: float = 0.05, power: float = 0.8, most: int = 100
) -> tuple[int | None, int | None]:
    """The range of the number of seeds per cell with which a decision is to be expected.

    The test items do not change when seeds are added, so that only the new seeds are random: with n
    seeds the difference is normal around that of infinitely many seeds on these items, with
    variance `seeds(n)`, and is significant beyond `t · √(seeds(n) + items)`. The two numbers are
    the smallest n with probability `power`, for the largest and the smallest plausible difference:
    the ends of its 50 % interval over seeds, `difference ± t₀.₇₅ · √seeds`. Variances are the
    estimated ones.

    Returns:
        (fewest, most); None: more than `most`, or no number suffices, see `enough_items`.

    Args:
        level: of the test, two-sided.
        most: the largest number tried.

    Raises:
        ValueError: as `compare_cells`, or a cell has one seed, without a variance.
    """
    parts = _components(a, b)
    return tuple(
        _first_with_power(difference, parts, len(a.items), level, power, most)
        for difference in parts.plausible
    )


def enough_items(a: CellSample, b: CellSample, level: float = 0.05) -> bool:
    """Whether more seeds can lead to a decision: if not, only more test examples can.

    With infinitely many seeds the difference is significant beyond `t · √items`. True if the
    largest plausible difference is (see `seeds_needed`).

    Args, Raises: as `seeds_needed`.
    """
    parts = _components(a, b)
    if len(a.items) == 1:
        return False
    limit = stdtrit(len(a.items) - 1, 1 - level / 2) * np.sqrt(parts.items)
    return bool(parts.plausible[0] > max(limit, ROUNDING))


@dataclass(frozen=True)
class _Components:
    """Variance components of the difference of two cells.

    Attributes:
        plausible: the largest and the smallest plausible absolute difference on these items.
        per_seed: variance of the difference from a single seed of each cell, `[2]`.
        items: the variance that remains with infinitely many seeds.
        fewer: the cell with fewer degrees of freedom.
    """

    plausible: tuple[float, float]
    per_seed: np.ndarray
    items: float
    fewer: CellSample


def _components(a: CellSample, b: CellSample) -> _Components:
    check_items(a, b)
    counts, items = seeds_of(a, b), len(a.items)
    if counts.min() == 1:
        raise ValueError("seeds_needed: expected at least 2 seeds of each cell, got 1")
    difference = abs(float(a.scores.mean() - b.scores.mean()))
    if items == 1:
        return _Components((difference, difference), np.zeros(2), np.inf, a)
    _, by_item, residual = observed_variances(a, b)
    per_seed = np.array([max(cell.seed_variance, cell.residual / items) for cell in (a, b)])
    shares = per_seed / counts
    fewer = min((a, b), key=lambda cell: cell.freedom(len(cell.scores)))
    half = np.sqrt(shares.sum()) * stdtrit(fewer.freedom(len(fewer.scores)), 0.75)
    plausible = (difference + half, max(0.0, difference - half))
    remaining = max(0.0, by_item - residual) + a.shared + b.shared
    return _Components(plausible, per_seed, remaining, fewer)


def _first_with_power(
    difference: float, parts: _Components, items: int, level: float, power: float, most: int
) -> int | None:
    if difference < ROUNDING or not np.isfinite(parts.items):
        return None
    fewest = FEWEST_SEEDS if parts.fewer.folds == 1 else FEWEST_REPEATS
    numbers = np.arange(fewest, most + 1)
    shares = parts.per_seed.sum() / numbers
    variance = shares + parts.items
    with np.errstate(invalid="ignore"):  # without any variance
        freedom = degrees_of_freedom(shares, parts.items, 0.0, parts.fewer.freedom(numbers), items)
        beyond = difference - stdtrit(freedom, 1 - level / 2) * np.sqrt(variance)
    # The other tail is negligible at this power.
    chances = ndtr(beyond / np.sqrt(np.maximum(shares, ROUNDING**2)))
    enough = numbers[(variance < ROUNDING**2) | (chances >= power)]
    return int(enough[0]) if len(enough) else None
