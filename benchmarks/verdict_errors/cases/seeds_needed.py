"""How many more seeds: what is said from three, where the right number is known."""

from functools import lru_cache

import numpy as np
from scipy.special import nctdtr, stdtrit

from benchmarks.verdict_errors.columns import Mean, Quantiles, Share
from benchmarks.verdict_errors.rules import OldTest, old_freedom, old_test
from tf_adapt.statistics.alpha_spending import level_of
from tf_adapt.statistics.seeds_needed import enough_items, seeds_needed
from tf_adapt.statistics.two_cells import CellDifference, CellSample, compare_cells, sample_of

ABOUT = (
    "Two cells with three seeds each on 200 test items, all effects normal; the difference that "
    "infinitely many seeds would show on these items is known, in units of its standard error "
    "over items (*difference*). Where *right number* stands, the difference is the one for which "
    "so many seeds of each cell decide with probability 0.8 on these items, at the level of the "
    "rule: 5 % before, 0.5 % (the next look) after; *power* is what so many seeds reach in the "
    "simulation. *one seed*: the deviation of a cell's score over its seeds, in points, to which "
    "the runs' own noise adds 2.8. *fewest*, *most*: the median of what is said (10 % to 90 % of "
    "comparisons). Where no number would do, that counts as more than 100. *covered*: the right "
    "number lies in the range (which is made of the central half of the plausible differences). "
    "*in vain*: it is said that no number of seeds would do. With a difference below 1.96 "
    "(before) or 2.84 (after) that is true; above, false."
)
COLUMNS = {
    "difference before": Mean(),
    "power before": Share(),
    "said before": Quantiles(),
    "in vain before": Share(),
    "difference after": Mean(),
    "power after": Share(),
    "fewest after": Quantiles(),
    "most after": Quantiles(),
    "covered after": Share(),
    "in vain after": Share(),
}
ITEMS, SEEDS, OWN, NOISE = 200, 3, 0.3, 0.4
POWER, MANY, DRAWS = 0.8, 100, 4000
LEVELS = {"before": 0.05, "after": level_of(2)}
ROWS = [
    {"right_number": number, "difference": None, "one_seed": seed}
    for seed in (3, 10)
    for number in (6, 24, 60)
] + [
    {"right_number": None, "difference": units, "one_seed": seed}
    for seed in (3, 10)
    for units in (1.5, 1.96, 2.3, 2.8, 3.5)
]


def simulated(random, right_number, difference, one_seed) -> dict[str, bool | float | None]:
    """One comparison."""
    found = {}
    for when, level in LEVELS.items():
        units = difference or deciding(right_number, one_seed, when)
        a, b = cells(random, units, one_seed, SEEDS)
        vain, fewest, most = (said_before if when == "before" else said_after)(a, b, level)
        found[f"in vain {when}"] = vain
        if right_number:
            found[f"difference {when}"] = units
            full = _tested(*cells(random, units, one_seed, right_number), when)
            found[f"power {when}"] = full.p <= level
        if when == "before":
            found["said before"] = most
        else:
            found |= {"fewest after": fewest, "most after": most}
            covered = not vain and fewest <= (right_number or 0) <= most
            found["covered after"] = covered if right_number else None
    return found


def cells(random, units: float, one_seed: float, seeds: int) -> tuple[CellSample, CellSample]:
    """Two cells on the same kind of items; what infinitely many seeds would show has exactly this
    mean and, over the items, exactly this deviation."""
    items = random.standard_normal(ITEMS)
    items = (items - items.mean()) / items.std(ddof=1)
    values = NOISE * random.standard_normal((2, seeds, ITEMS))
    values += one_seed / 100 * random.standard_normal((2, seeds, 1))
    values[0] += np.sqrt(2) * OWN * (items + units / np.sqrt(ITEMS))
    statistics = np.stack([values, np.ones_like(values)], axis=-1)
    return sample_of("accuracy", statistics[0]), sample_of("accuracy", statistics[1])


@lru_cache
def deciding(number: int, one_seed: float, when: str) -> float:
    """The difference, in its standard errors over items, that so many seeds decide with `POWER`.

    A draw is decided where the difference is beyond half of its interval: counted in `DRAWS`.
    """
    random, enough = np.random.default_rng(number), []
    for _ in range(DRAWS):
        a, b = cells(random, 0.0, one_seed, number)
        low, high = _tested(a, b, when).interval
        enough.append((high - low) / 2 - (a.scores.mean() - b.scores.mean()))
    return float(np.quantile(enough, POWER) / np.sqrt(2 * OWN**2 / ITEMS))


def said_after(a: CellSample, b: CellSample, level: float) -> tuple[bool, float, float]:
    """Whether no number would do, and the range that is said."""
    if not enough_items(a, b, level):
        return True, np.inf, np.inf
    return False, *(number or np.inf for number in seeds_needed(a, b, level))


def said_before(a: CellSample, b: CellSample, level: float) -> tuple[bool, float, float]:
    """As `said_after`, of the rule before: one number, as if the items were drawn again."""
    counts = len(a.scores)
    difference = abs(a.scores.mean() - b.scores.mean())
    residual = (a.residual + b.residual) / (counts * ITEMS)
    per_seed = np.array([max(cell.seed_variance, cell.residual / ITEMS) for cell in (a, b)])
    own = max(0.0, np.var(a.items - b.items, ddof=1) / ITEMS - residual)
    if _old_power(difference, np.zeros(2), own, 2, level) < POWER:
        return True, np.inf, np.inf
    for number in range(2, MANY + 1):
        if _old_power(difference, per_seed / number, own, number, level) >= POWER:
            return False, number, number
    return False, np.inf, np.inf


def _tested(a: CellSample, b: CellSample, when: str) -> OldTest | CellDifference:
    if when == "before":
        return old_test(a, b)
    return compare_cells(a, b, 1 - LEVELS[when])


def _old_power(difference: float, shares, own: float, number: int, level: float) -> float:
    variance = shares.sum() + own
    freedom = old_freedom(shares, own, variance, number, ITEMS)
    limit = stdtrit(freedom, 1 - level / 2)
    return 1.0 - nctdtr(freedom, difference / np.sqrt(variance), limit)
