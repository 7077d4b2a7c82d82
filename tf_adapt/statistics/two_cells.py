"""The test of two cells, where both the seeds and the test items are drawn by chance."""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, stdtr, stdtrit

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
        p_alike: probability of a difference this close to 0 if the true one is at least `margin`
            either way (two one-sided tests: the larger p).
    """

    difference: float
    interval: tuple[float, float] | None
    p: float
    p_alike: float


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


def compare_cells(a: Cell, b: Cell, level: float = 0.95, margin: float = 0.01) -> Comparison:
    """Two-sided test and interval for the difference of two cells' expected scores.

    Expected over new seeds (initialisation, order, dropout) and new test items, for the one set of
    training examples. The items are the same for both cells and paired. The seeds are not: run 0 of
    a and of b share the order of the data and little else, and two groups of S − 1 degrees of
    freedom decide more than one. If equal seeds do err alike, the test is cautious.

    With pseudo-values `y[cell, seed, item]`, which are the scores where these are means, and S the
    number of the cell's seeds:

        seeds    = Σ over cells of var(score over seeds) / S
        items    = var(mean of y_a − y_b over seeds, over items) / I
        residual = Σ over cells of var(y − its seed's and its item's mean) / (S·I)
        variance = seeds + items − min(seeds, items, residual)

    since the residual is counted in both; the minimum keeps the variance at least as large as
    either alone. `t = difference / √variance` has
    `variance² / ((Σ var_cell / S)² / (S_min − 1) + items² / (I − 1))` degrees of freedom: after
    Satterthwaite for seeds and items, and for the seeds of the two cells together Welch's bound,
    the freedom of the cell with fewer. Satterthwaite's sum over the cells is largest where the
    variance of the less stable one comes out too small by chance, and with two or three seeds it
    does: in the tail, at 0.005, the test then rejects up to six times as often as it should.

    This is the analysis of readers and cases, with seeds for readers. With one seed it becomes the
    paired t test over items, which knows nothing of the seeds' chance.

    Chosen among fifteen candidates by simulated comparisons of equal cells (accuracy, Pearson, span
    F1; 2, 3, 5 seeds; 100, 500 items). Tests of the items alone or of the seeds alone reject up to
    28 % at level 0.05, swapping answers within each seed (approximate randomisation) up to 42 %, a
    bootstrap of seeds and items 0.2 to 11 %, Hillis' test of paired seeds up to 12 %. How often
    this one does is in `docs/verdict_errors.md`.

    Without any variance p is 1 for equal scores, otherwise `2^(1 − I)`, the share of sign flips of
    I equal differences that are as far from 0.

    Items that are not independent (sentences of a document) are to be added up to one item before.

    Args:
        level: of the interval, which is for this pair alone, not simultaneous over several.
        margin: for `p_alike`.

    Raises:
        ValueError: the cells differ in their numbers of items.

    Source: Obuchowski and Rockette 1995; Hillis 2007, "A comparison of denominator degrees of
    freedom methods for multiple observer ROC analysis".
    """
    _check_items(a, b)
    difference = float(a.scores.mean() - b.scores.mean())
    if len(a.items) == 1:
        return Comparison(difference, None, 1.0, 1.0)
    seeds, items, residual = _variances(a, b)
    variance = seeds.sum() + items - min(seeds.sum(), items, residual)
    if variance < ROUNDING**2:
        p = 1.0 if abs(difference) < ROUNDING else 2.0 ** (1 - len(a.items))
        alike = 2.0 ** (1 - len(a.items)) if abs(difference) < margin else 1.0
        return Comparison(difference, (difference, difference), p, alike)
    freedom = _freedom(variance, seeds, items, _counts(a, b), len(a.items))
    error = np.sqrt(variance)
    half = float(error * stdtrit(freedom, (1 + level) / 2))
    p = float(2 * stdtr(freedom, -abs(difference) / error))
    p_alike = float(stdtr(freedom, (abs(difference) - margin) / error))
    return Comparison(difference, (difference - half, difference + half), p, p_alike)


def seeds_needed(
    a: Cell, b: Cell, level: float = 0.05, power: float = 0.8, most: int = 100
) -> tuple[int | None, int | None]:
    """Between which numbers of seeds of each cell a decision between the two is to be expected.

    The test items stay what they are when seeds are added. So chance is in the new seeds alone:
    with n seeds the difference is normal around the one that infinitely many seeds would show on
    these items, with variance `seeds(n)`, and the test is passed where it is beyond
    `t · √(seeds(n) + items)`. The two numbers are the smallest n of that probability `power` for
    the largest and the smallest difference that the seeds run so far leave plausible: the ends of
    its central half, `difference ± t₀.₇₅ · √seeds`. The variances are taken as they are seen.

    Returns:
        (fewest, most); None: more than `most`, or none would do, see `enough_items`.

    Args:
        level: of the test, two-sided.
        most: the largest number tried.

    Raises:
        ValueError: as `compare_cells`, or there is one seed, from which no variance is known.
    """
    parts = _components(a, b)
    return tuple(
        _first_with_power(difference, parts, len(a.items), level, power, most)
        for difference in parts.plausible
    )


def enough_items(a: Cell, b: Cell, level: float = 0.05) -> bool:
    """Whether seeds can decide: if not, only more test examples can.

    With infinitely many seeds the test is passed where the difference on these items is beyond
    `t · √items`. True where the largest plausible difference is (see `seeds_needed`).

    Args, Raises: as `seeds_needed`.
    """
    parts = _components(a, b)
    if len(a.items) == 1:
        return False
    limit = stdtrit(len(a.items) - 1, 1 - level / 2) * np.sqrt(parts.items)
    return bool(parts.plausible[0] > max(limit, ROUNDING))


@dataclass(frozen=True)
class _Components:
    """What a decision between two cells depends on.

    Attributes:
        plausible: the largest and the smallest difference on these items, without its sign.
        per_seed: what one seed of each cell adds to the variance of the difference, `[2]`.
        items: the part of the variance that no number of seeds takes away.
    """

    plausible: tuple[float, float]
    per_seed: np.ndarray
    items: float


def _check_items(a: Cell, b: Cell) -> None:
    if len(a.items) != len(b.items):
        raise ValueError(
            f"cells: expected the same test items in both, got {len(a.items)} and {len(b.items)}"
        )


def _counts(a: Cell, b: Cell) -> np.ndarray:
    return np.array([len(a.scores), len(b.scores)])


def _variances(a: Cell, b: Cell) -> tuple[np.ndarray, float, float]:
    """`seeds` (one a cell), `items` and `residual` of `compare_cells`."""
    counts, items = _counts(a, b), len(a.items)
    by_seed = np.array([a.seed_variance, b.seed_variance]) / counts
    by_item = np.var(a.items - b.items, ddof=1) / items
    return by_seed, by_item, float((np.array([a.residual, b.residual]) / counts).sum() / items)


def _components(a: Cell, b: Cell) -> _Components:
    _check_items(a, b)
    counts, items = _counts(a, b), len(a.items)
    if counts.min() == 1:
        raise ValueError("seeds_needed: expected at least 2 seeds of each cell, got 1")
    difference = abs(float(a.scores.mean() - b.scores.mean()))
    if items == 1:
        return _Components((difference, difference), np.zeros(2), np.inf)
    _, by_item, residual = _variances(a, b)
    per_seed = np.array([max(cell.seed_variance, cell.residual / items) for cell in (a, b)])
    shares = per_seed / counts
    half = np.sqrt(shares.sum()) * stdtrit(counts.min() - 1, 0.75)
    plausible = (difference + half, max(0.0, difference - half))
    return _Components(plausible, per_seed, max(0.0, by_item - residual))


def _first_with_power(
    difference: float, parts: _Components, items: int, level: float, power: float, most: int
) -> int | None:
    if difference < ROUNDING or not np.isfinite(parts.items):
        return None
    for number in range(2, most + 1):
        shares = parts.per_seed / number
        variance = shares.sum() + parts.items
        if variance < ROUNDING**2:
            return number
        counts = np.array([number, number])
        freedom = _freedom(variance, shares, parts.items, counts, items)
        beyond = difference - stdtrit(freedom, 1 - level / 2) * np.sqrt(variance)
        # The other tail adds nothing where the power is of interest.
        if ndtr(beyond / np.sqrt(max(shares.sum(), ROUNDING**2))) >= power:
            return number
    return None


def _freedom(
    variance: float, by_seed: np.ndarray, by_item: float, counts: np.ndarray, items: int
) -> float:
    spread = by_seed.sum() ** 2 / max(counts.min() - 1, 1) + by_item**2 / (items - 1)
    return variance**2 / spread
