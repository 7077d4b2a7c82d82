"""The test of two cells, where both the seeds and the test items are drawn by chance."""

from dataclasses import dataclass

import numpy as np
from scipy.special import nctdtr, stdtr, stdtrit

from tf_adapt.statistics.scores import pseudo_values, score_of

# Below this, a difference of scores is the rounding of their sums.
ROUNDING = 1e-12


@dataclass(frozen=True)
class Cell:
    """What a comparison needs to know of one cell.

    Attributes:
        scores: `[seeds]`.
        items: `[items]`, pseudo-values, means over the seeds.
        seed_variance: of the scores over the seeds; 0 with one seed.
        residual: variance of a single pseudo-value around what its seed and its item explain; 0
            with one seed.
    """

    scores: np.ndarray
    items: np.ndarray
    seed_variance: float
    residual: float


@dataclass(frozen=True)
class Comparison:
    """Cell a against cell b.

    Attributes:
        difference: a − b, mean over the seeds.
        interval: of the true difference, for this pair alone; None with one test item.
        p: probability of a difference this far from 0, either way, if there is none in truth.
    """

    difference: float
    interval: tuple[float, float] | None
    p: float


def cell_of(metric: str, statistics: np.ndarray) -> Cell:
    """A cell from `item_statistics` of its runs, one a seed.

    Shapes: statistics `[seeds, items, k]`.
    """
    scores = score_of(metric, statistics.sum(axis=1))
    values = pseudo_values(metric, statistics)
    seeds, items = values.shape
    if seeds == 1:
        return Cell(scores, values[0], 0.0, 0.0)
    rest = values - values.mean(0) - values.mean(1, keepdims=True) + values.mean()
    freedom = (seeds - 1) * max(items - 1, 1)
    return Cell(scores, values.mean(0), scores.var(ddof=1), (rest**2).sum() / freedom)


def compare_cells(a: Cell, b: Cell, level: float = 0.95) -> Comparison:
    """Two-sided test and interval for the difference of two cells' expected scores.

    Expected over new seeds (initialisation, order, dropout) and new test items, for the one set of
    training examples. The items are the same for both cells and paired. The seeds are not: run 0 of
    a and of b share the order of the data and little else, and two groups of S − 1 degrees of
    freedom decide more than one. If equal seeds do err alike, the test is cautious.

    With pseudo-values `y[cell, seed, item]`, which are the scores where these are means:

        seeds    = Σ over cells of var(score over seeds) / S
        items    = var(mean of y_a − y_b over seeds, over items) / I
        residual = Σ over cells of var(y − its seed's and its item's mean) / (S·I)
        variance = seeds + items − min(seeds, items, residual)

    since the residual is counted in both; the minimum keeps the variance at least as large as
    either alone. `t = difference / √variance` has, after Satterthwaite,
    `variance² / (Σ (var_cell / S)² / (S − 1) + items² / (I − 1))` degrees of freedom. This is the
    analysis of readers and cases, with seeds for readers. It becomes Welch's t test over seeds
    where all items tell the same, and with one seed the paired t test over items, which knows
    nothing of the seeds' chance.

    Chosen among fifteen candidates by simulated comparisons of equal cells, 4,000 (where resampled,
    1,000) in each of 96 cases: accuracy with seeds that disagree on 10 or 28 % of the items,
    Pearson, span F1; 2, 3, 5 seeds; 100, 500 items; true deviations over seeds of 0, 1, 2 points,
    or of 1 in one cell and 2 in the other. At level 0.05 it rejects 1.4 to 5.7 %, on average 3.5 %
    (up to 6.7 % with deviations of 1 and 3). Tests of the items alone or of the seeds alone reject
    up to 28 %, swapping answers within each seed (approximate randomisation) up to 42 %, a
    bootstrap of seeds and items 0.2 to 11 %, Hillis' test of paired seeds up to 12 %. Of the four
    that stay below 6 %, three have the same power within two points; this is the one whose variance
    is a single formula.

    Without any variance p is 1 for equal scores, otherwise `2^(1 − I)`, the share of sign flips of
    I equal differences that are as far from 0.

    Args:
        level: of the interval, which is for this pair alone, not simultaneous over several.

    Raises:
        ValueError: the cells differ in their numbers of seeds or items.

    Source: Obuchowski and Rockette 1995; Hillis 2007, "A comparison of denominator degrees of
    freedom methods for multiple observer ROC analysis".
    """
    _check_alike(a, b)
    difference = float(a.scores.mean() - b.scores.mean())
    if len(a.items) == 1:
        return Comparison(difference, None, 1.0)
    seeds, items, residual = _variances(a, b)
    variance = seeds.sum() + items - min(seeds.sum(), items, residual)
    if variance < ROUNDING**2:
        p = 1.0 if abs(difference) < ROUNDING else 2.0 ** (1 - len(a.items))
        return Comparison(difference, (difference, difference), p)
    freedom = _freedom(variance, seeds, items, len(a.scores), len(a.items))
    error = np.sqrt(variance)
    margin = float(error * stdtrit(freedom, (1 + level) / 2))
    p = float(2 * stdtr(freedom, -abs(difference) / error))
    return Comparison(difference, (difference - margin, difference + margin), p)


def seeds_needed(
    a: Cell, b: Cell, level: float = 0.05, power: float = 0.8, most: int = 100
) -> int | None:
    """The smallest number of seeds of each cell that would probably decide between the two.

    If the true difference and variances are those seen now, `compare_cells` with so many seeds and
    the same test items gives p ≤ level with probability `power` (noncentral t). From few seeds, it
    is a rough estimate. None where `most` would not do: see `enough_items`.

    Args:
        level: of the test, two-sided.
        most: the largest number tried.

    Raises:
        ValueError: as `compare_cells`, or there is one seed, from which no variance is known.
    """
    difference, seeds, own = _components(a, b)
    for number in range(2, most + 1):
        shares = seeds / number
        variance = shares.sum() + own
        freedom = _freedom(variance, shares, own, number, len(a.items))
        if _power(difference, variance, freedom, level) >= power:
            return number
    return None


def enough_items(a: Cell, b: Cell, level: float = 0.05, power: float = 0.8) -> bool:
    """Whether any number of seeds could decide: if not, more test examples are needed.

    The chance of the test items stays, however many seeds there are.

    Args, Raises: as `seeds_needed`.
    """
    difference, _, own = _components(a, b)
    return _power(difference, own, len(a.items) - 1, level) >= power


def _check_alike(a: Cell, b: Cell) -> None:
    sizes = [(len(cell.scores), len(cell.items)) for cell in (a, b)]
    if sizes[0] != sizes[1]:
        raise ValueError(
            f"cells: expected the same seeds and test items in both, got {sizes[0]} and {sizes[1]}"
        )


def _variances(a: Cell, b: Cell) -> tuple[np.ndarray, float, float]:
    """`seeds` (one a cell), `items` and `residual` of `compare_cells`."""
    seeds, items = len(a.scores), len(a.items)
    by_seed = np.array([a.seed_variance, b.seed_variance]) / seeds
    by_item = np.var(a.items - b.items, ddof=1) / items
    return by_seed, by_item, (a.residual + b.residual) / (seeds * items)


def _components(a: Cell, b: Cell) -> tuple[float, np.ndarray, float]:
    """The difference, what one seed of each cell adds to its variance, and the items' own part."""
    _check_alike(a, b)
    seeds, items = len(a.scores), len(a.items)
    if seeds == 1:
        raise ValueError("seeds_needed: expected at least 2 seeds, got 1")
    difference = float(a.scores.mean() - b.scores.mean())
    if items == 1:
        return difference, np.zeros(2), np.inf
    _, by_item, residual = _variances(a, b)
    per_seed = [max(cell.seed_variance, cell.residual / items) for cell in (a, b)]
    return difference, np.array(per_seed), max(0.0, by_item - residual)


def _freedom(variance: float, by_seed: np.ndarray, by_item: float, seeds: int, items: int) -> float:
    spread = (by_seed**2).sum() / max(seeds - 1, 1) + by_item**2 / (items - 1)
    return variance**2 / spread


def _power(difference: float, variance: float, freedom: float, level: float) -> float:
    if variance < ROUNDING**2:
        return float(abs(difference) >= ROUNDING)
    limit = stdtrit(freedom, 1 - level / 2)
    # The other tail adds nothing where the power is of interest.
    return 1.0 - nctdtr(freedom, abs(difference) / np.sqrt(variance), limit)
