"""Score against the number of training examples, and where tuning is ahead. Pure functions.

At each number, the better of the best frozen and the best tuned cell is tested against every cell
of the other group. The p-value for "ahead of all" is the largest of these (an intersection-union
test), times the number of cells in its own group (Bonferroni). The numbers are tested from the
largest down, each at the whole level, until one is not decided (a fixed sequence, which needs no
correction). Untrained encoders are in neither group.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np

from tf_adapt.paper import FROZEN
from tf_adapt.printing.words import listed
from tf_adapt.report.scored_cells import (
    CurvePoint,
    LackingLabels,
    LearningCurves,
    ScoredCell,
    SizedCell,
)
from tf_adapt.statistics.alpha_spending import level_of
from tf_adapt.statistics.pairs import compare_pairs

TUNING_AHEAD, FROZEN_AHEAD = "tuning", "frozen"
_SAID = {
    TUNING_AHEAD: "tuning is ahead of every cell with a frozen encoder",
    FROZEN_AHEAD: "a frozen encoder is ahead of every cell that tunes",
    None: "it is not decided between tuning and freezing",
}


@dataclass(frozen=True)
class Size:
    """The results of the cells with one number of training examples.

    Attributes:
        cells: by id.
        statistics: `item_statistics` by id, `[seeds, items, k]`, of the seeds that trained.
        lacking: labels of train that are missing in the parts.
    """

    examples: int
    cells: dict[str, SizedCell]
    statistics: dict[str, np.ndarray]
    lacking: LackingLabels


def learning_curves(
    metric: str, sizes: Sequence[Size], cells: Sequence[ScoredCell], analysis: int = 1
) -> LearningCurves:
    """The curves, with tests if there are both frozen and tuned cells.

    Args:
        sizes: in ascending order of examples.
        analysis: number of the interim analysis, which sets the level of the tests.
    """
    groups = {True: [], False: []}
    for cell in cells:
        if cell.pretrained:
            groups[cell.adaptation == FROZEN].append(cell.id)
    level = level_of(analysis)
    points = [_tested(metric, size, groups[True], groups[False], analysis) for size in sizes]
    points = _in_order(points, level)
    sentence = _sentence(points) if groups[True] and groups[False] else ""
    return LearningCurves(level, sentence, points)


def _in_order(points: Sequence[CurvePoint], level: float) -> list[CurvePoint]:
    """Decides from the largest number down; points without a test take no part."""
    largest, decided = 0.0, []
    for point in reversed(points):
        if point.p is not None:
            largest = max(largest, point.p)
            better = TUNING_AHEAD if point.difference > 0 else FROZEN_AHEAD
            ahead = better if largest <= level else None
            point = replace(point, p_in_order=largest, ahead=ahead)
        decided.append(point)
    return decided[::-1]


def _tested(
    metric: str, size: Size, frozen: Sequence[str], tuned: Sequence[str], analysis: int
) -> CurvePoint:
    """The point with its own test."""
    frozen, tuned = (
        [name for name in group if name in size.statistics] for group in (frozen, tuned)
    )
    point = CurvePoint(
        examples=size.examples,
        cells=size.cells,
        lacking=size.lacking,
        frozen=_best(size, frozen),
        tuned=_best(size, tuned),
    )
    if not frozen or not tuned:
        return point
    best_frozen, best_tuned = (size.cells[name].results for name in (point.frozen, point.tuned))
    difference = best_tuned.mean - best_frozen.mean
    better, worse = (tuned, frozen) if difference > 0 else (frozen, tuned)
    p_values = [_p(metric, size, _best(size, better), rival) for rival in worse]
    p = None if None in p_values else min(1.0, len(better) * max(p_values))
    both = {name: size.statistics[name] for name in (point.tuned, point.frozen)}
    interval = compare_pairs(metric, both, analysis)[0].interval
    return replace(point, difference=difference, p=p, interval=interval)


def _best(size: Size, names: Sequence[str]) -> str | None:
    return max(names, key=lambda name: size.cells[name].results.mean, default=None)


def _p(metric: str, size: Size, first: str, second: str) -> float | None:
    """The p-value of two cells; None if untestable, or if seeds of the first cell failed, which
    biases its mean."""
    if size.cells[first].results.failed.total:
        return None
    pair = {name: size.statistics[name] for name in (first, second)}
    return compare_pairs(metric, pair)[0].p_holm


def _sentence(points: Sequence[CurvePoint]) -> str:
    """`From 300 training examples on tuning is ahead …; with 100 it is not decided …`."""
    stretches = [
        (ahead, [f"{point.examples:,}" for point in some])
        for ahead, some in groupby(points, key=lambda point: point.ahead)
    ]
    *before, (last, numbers) = stretches
    if not before:
        return f"With {listed(numbers)} training examples {_SAID[last]}."
    first = f"From {numbers[0]} training examples on"
    if len(numbers) == 1:
        first = f"With {numbers[0]} training examples"
    others = [f"with {listed(some)} {_SAID[ahead]}" for ahead, some in reversed(before)]
    return f"{'; '.join([f'{first} {_SAID[last]}', *others])}."
