"""Tests of all pairs of cells, and of each cell against the baseline, with Holm's correction."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from types import MappingProxyType

import numpy as np

from tf_adapt.statistics.alpha_spending import LEVELS, level_of, next_level
from tf_adapt.statistics.metrics import METRICS
from tf_adapt.statistics.power import larger_design
from tf_adapt.statistics.relation import (
    FEWEST_ITEMS,
    FEWEST_REPEATS,
    FEWEST_SEEDS,
    WORTH,
    BaselineTest,
    PairTest,
)
from tf_adapt.statistics.seeds_needed import enough_items, seeds_needed
from tf_adapt.statistics.two_cells import CellDifference, CellSample, compare_cells, sample_of

# Scores within a point of each other are alike; the paper colours larger differences only.
MARGIN = 0.01
# Why a pair that can be tested is open.
OPEN_REASONS = ("more_seeds", "more_test_examples", "no_analysis_left")


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's adjusted p-values, in the order given: rejecting those ≤ α bounds the probability of
    any false rejection by α.

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
    metric: str,
    statistics: Mapping[str, np.ndarray],
    analysis: int = 1,
    standing: Collection[tuple[str, str]] = (),
    folds: Mapping[str, np.ndarray] = MappingProxyType({}),
) -> list[PairTest]:
    """`compare_cells` for all pairs of cells, a before b in input order.

    The interval has level 1 − α with α of this analysis. A pair is decided if p_holm ≤ α, or if an
    earlier one decided it in the same direction; alike if the interval lies within `MARGIN`: both
    one-sided tests pass α / 2 after Holm's correction. `why` is one of:

    - `decided`, `alike`;
    - `identical`: equal on every item with every seed, so that there is nothing to test;
    - `few_items`: fewer than `FEWEST_ITEMS`;
    - `few_seeds`: fewer than `FEWEST_SEEDS` of a cell, with folds than `FEWEST_REPEATS`; with one,
      p and interval account for the test items only;
    - `more_seeds`: with a number of seeds between the two of `seeds_needed` (None: more than 100)
      the observed difference would be decided at the next analysis with probability 0.8, even if no
      other open pair is decided;
    - `more_test_examples`: on these test items hardly any number of seeds would decide;
    - `no_analysis_left`: all `LEVELS` are used, or this analysis is the final one.

    Args:
        metric: as for `item_statistics`.
        statistics: by cell, `[seeds, items, k]`: `item_statistics` of each seed's run; cells may
            differ in their numbers of seeds.
        analysis: from 1, see `level_of`.
        standing: pairs (ahead, behind) that an earlier analysis has decided.
        folds: of a cross-validation, by cell `[seeds, items]`, see `sample_of_values`; each seed is
            then a repeat.

    Raises:
        ValueError: the cells differ in their numbers of items.
    """
    cells = {name: sample_of(metric, rows, folds.get(name)) for name, rows in statistics.items()}
    fewest = FEWEST_REPEATS if folds else FEWEST_SEEDS
    return judged(
        [
            Tested(a, b, cells[a], cells[b], obstacle(statistics[a], statistics[b], fewest))
            for a, b in combinations(cells, 2)
        ],
        widest_difference(metric),
        analysis,
        standing,
    )


@dataclass(frozen=True)
class Tested:
    """Two cells to test: names, samples, and why they cannot be tested; None if they can."""

    a: str
    b: str
    sample_a: CellSample
    sample_b: CellSample
    obstacle: str | None


def judged(
    tested: Sequence[Tested],
    widest: float,
    analysis: int,
    standing: Collection[tuple[str, str]] = (),
) -> list[PairTest]:
    """The tests of `compare_pairs`, with Holm's correction over all that are given.

    Args:
        widest: the largest difference that there can be.
    """
    alpha = level_of(analysis)
    level = 1 - (alpha or LEVELS[-1])
    results = [compare_cells(pair.sample_a, pair.sample_b, level, MARGIN) for pair in tested]
    able = [number for number, pair in enumerate(tested) if pair.obstacle is None]
    adjusted = dict(zip(able, holm([results[n].p for n in able]), strict=True))
    near = dict(zip(able, holm([results[n].p_alike for n in able]), strict=True))
    open_pairs = sum(p > alpha for p in adjusted.values())
    pairs = []
    for number, (pair, result) in enumerate(zip(tested, results, strict=True)):
        is_able = pair.obstacle is None
        ahead = (pair.a, pair.b) if result.difference > 0 else (pair.b, pair.a)
        decided = is_able and (alpha > 0 and adjusted[number] <= alpha or ahead in standing)
        alike = is_able and alpha > 0 and near[number] <= alpha / 2
        why, needed = pair.obstacle, None
        if decided or alike:
            why = "decided" if decided else "alike"
        elif is_able:
            why, needed = _what_is_needed(pair.sample_a, pair.sample_b, analysis, open_pairs)
        pairs.append(
            PairTest(
                a=pair.a,
                b=pair.b,
                difference=result.difference,
                interval=_possible(result, widest),
                level=level,
                p=result.p,
                p_holm=adjusted.get(number),
                decided=decided,
                alike=alike,
                seeds_needed=needed,
                why=why,
                error=result.error,
            )
        )
    return pairs


def with_larger_designs(
    pairs: Sequence[PairTest],
    metric: str,
    statistics: Mapping[str, np.ndarray],
    folds: Mapping[str, np.ndarray] = MappingProxyType({}),
) -> list[PairTest]:
    """The tests of `compare_pairs`, the open ones with their `larger_design`.

    The level is that of a new comparison in which all open pairs stay open, with Holm's correction.
    """
    cells = {name: sample_of(metric, rows, folds.get(name)) for name, rows in statistics.items()}
    still_open = [pair for pair in pairs if pair.why in OPEN_REASONS]
    level = LEVELS[0] / max(1, len(still_open))
    return [
        replace(
            pair,
            larger_design=larger_design(
                cells[pair.a], cells[pair.b], max(abs(pair.difference), WORTH), level
            ),
        )
        if pair.why in OPEN_REASONS
        else pair
        for pair in pairs
    ]


def above_baseline(
    metric: str,
    statistics: Mapping[str, np.ndarray],
    baseline: np.ndarray,
    analysis: int = 1,
    folds: Mapping[str, np.ndarray] = MappingProxyType({}),
    own_folds: np.ndarray | None = None,
) -> dict[str, BaselineTest]:
    """Whether each cell is above a baseline, by the same test.

    `above`: p_holm ≤ α of this analysis, and the difference is positive. With one seed the test is
    about this one model. With fewer than `FEWEST_ITEMS` test items `above` is False.

    Shapes: statistics by cell `[seeds, items, k]`; baseline `[items, k]` of a constant prediction,
    `[seeds, items, k]` of a model; own_folds of a model `[seeds, items]`, as `folds` of each cell.
    """
    tested = sample_of(metric, baseline if baseline.ndim == 3 else baseline[None], own_folds)
    alpha, enough = level_of(analysis) or LEVELS[-1], baseline.shape[-2] >= FEWEST_ITEMS
    cells = [sample_of(metric, rows, folds.get(name)) for name, rows in statistics.items()]
    results = [compare_cells(cell, tested) for cell in cells]
    adjusted = holm([result.p for result in results])
    return {
        name: BaselineTest(
            result.difference,
            result.p,
            p_holm=p,
            above=bool(enough and result.difference > 0 and p <= alpha),
        )
        for name, result, p in zip(statistics, results, adjusted, strict=True)
    }


def obstacle(a: np.ndarray, b: np.ndarray, fewest: int) -> str | None:
    """Why two cells cannot be tested; None if they can."""
    if a.shape == b.shape and np.array_equal(a, b):
        return "identical"
    if a.shape[1] < FEWEST_ITEMS:
        return "few_items"
    return "few_seeds" if min(len(a), len(b)) < fewest else None


def widest_difference(metric: str) -> float:
    """The largest difference of two scores."""
    low, high = METRICS[metric].limits
    return high - low


def _possible(result: CellDifference, widest: float) -> list[float] | None:
    """The interval, clipped to the differences that there can be."""
    if result.interval is None:
        return None
    return [max(-widest, result.interval[0]), min(widest, result.interval[1])]


def _what_is_needed(
    a: CellSample, b: CellSample, analysis: int, open_pairs: int
) -> tuple[str, list[int | None] | None]:
    """`why` and `seeds_needed` of an open pair, for a decision at the next analysis."""
    alpha = next_level(analysis)
    if not alpha:
        return "no_analysis_left", None
    if not enough_items(a, b, alpha / open_pairs):
        return "more_test_examples", None
    return "more_seeds", list(seeds_needed(a, b, alpha / open_pairs))
