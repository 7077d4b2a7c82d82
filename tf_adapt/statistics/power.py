"""The power of a design: how probably it decides a difference of two cells. Imports no TensorFlow.

The test is that of `tf_adapt.statistics.two_cells`, at the level of the first interim analysis.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from scipy.special import chdtri, ndtr, stdtrit

from tf_adapt.statistics.alpha_spending import LEVELS
from tf_adapt.statistics.relation import FEWEST_ITEMS, FEWEST_REPEATS, FEWEST_SEEDS
from tf_adapt.statistics.two_cells import (
    ROUNDING,
    CellSample,
    degrees_of_freedom,
    observed_variances,
    total_variance,
    variance_of_trainings,
)

POWER = 0.8
MOST_ITEMS = 100_000
MORE_SEEDS, MORE_REPEATS = (10, 20), (4,)
# Midpoints of equally probable parts of the distribution of the estimated variance over seeds; of
# two cells' over folds, those of each.
_QUANTILES = (np.arange(200) + 0.5) / 200
_OF_EACH = (np.arange(32) + 0.5) / 32


@dataclass(frozen=True)
class Scatter:
    """What makes the difference of two cells' scores uncertain, as variances.

    The defaults are those of the simulated comparisons in `docs/verdict_errors.json` (accuracy
    80 %): a deviation of one point over seeds, two runs of a cell disagree on one item in nine
    (twice the residual), two runs of two cells on one in six (both residuals and `items`).

    Attributes:
        seeds: of the expected score of each cell over its seeds, `[2]`.
        items: of the difference of the two cells' expected answers, over items.
        residual: of a single answer of each cell around its item's and its seed's mean, `[2]`.
    """

    seeds: tuple[float, float] = (1e-4, 1e-4)
    items: float = 0.047
    residual: tuple[float, float] = (1 / 18, 1 / 18)


@dataclass(frozen=True)
class Design:
    """What is trained of each cell, and what is scored.

    Attributes:
        trainings: of each cell: seeds, or repeats × folds.
        answers: of each cell to each item: seeds, or repeats.
        items: the number of scored items.
    """

    trainings: int
    answers: int
    items: int

    @property
    def folds(self) -> int:
        """The trainings of an answer to all items; 1: there are no folds."""
        return self.trainings // self.answers

    @property
    def is_testable(self) -> bool:
        """Whether it is enough for a decision."""
        fewest = FEWEST_SEEDS if self.folds == 1 else FEWEST_REPEATS
        return self.answers >= fewest and self.items >= FEWEST_ITEMS


TYPICAL = Scatter()


def seeds_on(seeds: int, items: int) -> Design:
    """The design in which each of some seeds is scored on all items."""
    return Design(seeds, seeds, items)


def power(
    difference: float,
    design: Design,
    scatter: Scatter = TYPICAL,
    level: float = LEVELS[0],
) -> float:
    """The probability that `compare_cells` decides a true difference in its direction.

    With S seeds that answer each of I items and true variances

        true = Σ seeds / S + items / I + Σ residual / (S·I)

    the difference is normal with this variance. The variance over seeds that the test estimates is
    `χ²(f) / f` times the true one, independent of the difference, with Welch's f of the two cells;
    the probability is averaged over it. The variance over items is taken as known.

    With R repeats of K folds it is `Σ seeds·(1/(RK) + 1/(K − 1))` in place of `Σ seeds / S`, and
    the variance over the folds is `χ²(f) / f` times its mean, with f = R(K − 1), for each cell by
    itself, since what the test takes from it is never below 0; see `variance_of_trainings`.

    Args:
        difference: of the expected scores, 0.05 for five points.
        level: two-sided; of one of many pairs the level that Holm's correction leaves it.

    Returns:
        0 with too few seeds, repeats or items for a test.
    """
    if not design.is_testable:
        return 0.0
    true, seeds, by_item, residual, of_seeds = (_of_seeds if design.folds == 1 else _of_folds)(
        design, scatter
    )
    if true < ROUNDING**2:
        return float(difference > 0)
    estimated = total_variance(seeds, by_item, residual)
    freedom = degrees_of_freedom(seeds, by_item, residual, of_seeds, design.items)
    needed = stdtrit(freedom, 1 - level / 2) * np.sqrt(estimated)
    return float(ndtr((difference - needed) / np.sqrt(true)).mean())


def _of_seeds(design: Design, scatter: Scatter) -> tuple:
    """The variance of the difference, and as the test estimates them: equally probable variances
    over seeds, that over items, the residual, and the degrees of freedom of those over seeds."""
    seeds, items = design.answers, design.items
    residual = sum(scatter.residual) / (seeds * items)
    by_item = scatter.items / items + residual
    by_cell = (np.array(scatter.seeds) + np.array(scatter.residual) / items) / seeds
    welch = seeds - 1.0
    if by_cell.any():
        welch *= by_cell.sum() ** 2 / (by_cell**2).sum()
    over_seeds = by_cell.sum() * chdtri(welch, _QUANTILES) / welch
    return sum(scatter.seeds) / seeds + by_item, over_seeds, by_item, residual, seeds - 1


def _of_folds(design: Design, scatter: Scatter) -> tuple:
    """As `_of_seeds`, of repeats of a cross-validation."""
    repeats, folds, items = design.answers, design.folds, design.items
    trainings, rest = np.array(scatter.seeds), np.array(scatter.residual)
    within, of_seeds = trainings + rest, repeats * (folds - 1)
    noise = repeats / (repeats - 1) * folds / items
    over_folds = trainings * (1 + 1 / (folds * (repeats - 1))) + rest * noise
    likely = over_folds[:, None] * chdtri(of_seeds, _OF_EACH) / of_seeds
    estimated = variance_of_trainings(likely, within[:, None], noise, repeats, folds)
    residual = (within[:, None] - estimated) / (repeats * items)
    seeds = estimated / design.trainings + residual + estimated / (folds - 1)
    by_item = (scatter.items + within.sum() / repeats) / items
    true = trainings.sum() * (1 / design.trainings + 1 / (folds - 1))
    true += (scatter.items + rest.sum() / repeats) / items
    of_both = [np.add.outer(*of_cells) for of_cells in (seeds, residual)]
    return true, of_both[0], by_item, of_both[1], of_seeds


def scatter_of(a: CellSample, b: CellSample) -> Scatter:
    """The variance components of two cells, estimated from their runs; none is below 0.

    Raises:
        ValueError: the cells differ in their numbers of items.
    """
    items = len(a.items)
    _, by_item, residual = observed_variances(a, b)
    return Scatter(
        seeds=tuple(
            max(0.0, cell.folds * (cell.seed_variance - cell.residual / items)) for cell in (a, b)
        ),
        items=max(0.0, (by_item - residual) * items),
        residual=(a.residual, b.residual),
    )


def items_needed(
    difference: float, seeds: int, scatter: Scatter, level: float = LEVELS[0], folds: int = 1
) -> int | None:
    """The fewest items, to two digits, with which seeds, or repeats of folds, of a number decide a
    difference with probability `POWER`; None: more than `MOST_ITEMS`."""

    def decides(items: int) -> bool:
        return power(difference, Design(folds * seeds, seeds, items), scatter, level) >= POWER

    low, high = FEWEST_ITEMS - 1, FEWEST_ITEMS
    while not decides(high):
        if high >= MOST_ITEMS:
            return None
        low, high = high, min(2 * high, MOST_ITEMS)
    while high - low > max(1, low // 50):
        middle = (low + high) // 2
        low, high = (low, middle) if decides(middle) else (middle, high)
    return two_digits(high)


def larger_design(
    a: CellSample, b: CellSample, difference: float, level: float = LEVELS[0]
) -> list[int] | None:
    """Seeds of each cell and items with which the cells would be decided if they truly differed by
    a difference: as many seeds as now if any number of items does it, else 10 or 20; with folds as
    many repeats as now, else 4.

    Returns:
        None: with none of these.

    Raises:
        ValueError: as `scatter_of`.
    """
    now, scatter = min(len(a.scores), len(b.scores)), scatter_of(a, b)
    folds = min(a.folds, b.folds)
    larger = MORE_SEEDS if folds == 1 else MORE_REPEATS
    for seeds in (now, *(more for more in larger if more > now)):
        items = items_needed(difference, seeds, scatter, level, folds)
        if items is not None:
            return [seeds, items]
    return None


def cheapest_design(
    difference: float,
    designs: Iterable[Design],
    scatter: Scatter = TYPICAL,
    level: float = LEVELS[0],
) -> Design | None:
    """The design with the fewest trainings, and of these the fewest items, that decides a
    difference with probability `POWER`; None: none does."""
    enough = [design for design in designs if power(difference, design, scatter, level) >= POWER]
    return min(enough, key=lambda design: (design.trainings, design.items), default=None)


def two_digits(number: int) -> int:
    """The number rounded up to two digits: 381 → 390."""
    digits = 10 ** max(len(str(number)) - 2, 0)
    return -(-number // digits) * digits
