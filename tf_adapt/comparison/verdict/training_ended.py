"""Which cells were not trained to the end, by their curves, learning rates and scores.

A cell that would be better with more epochs or another rate is neither a loser nor a winner yet.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tf_adapt.comparison.plan.cells import EPOCHS, HIGHER, LOWER
from tf_adapt.report.content import Content
from tf_adapt.report.scored_cells import ScoredCell, Trial
from tf_adapt.statistics.metrics import METRICS

# In points of the metric: a rise or a lead on dev below it says nothing.
RISING = 0.5
# A lead over the baseline below it is chance where other cells or simple models are above.
CHANCE = 2
# The best of two rates is always at an edge of the list.
FEWEST_RATES = 3


@dataclass(frozen=True)
class Shortfall:
    """Why a cell is not trained to the end, as a phrase.

    Attributes:
        adds: what `compare` adds: `EPOCHS`, or one rate at the end `LOWER` or `HIGHER`.
        mend: what to do about it, with a place for the name of the adaptation.
    """

    why: str
    adds: str
    mend: str

    def mended(self, adaptation: str) -> str:
        """What to do about it in the cells of an adaptation, as a phrase."""
        return self.mend.format(adaptation=adaptation)


RISES = Shortfall(
    "its best epoch is the last, and the score on dev still rises",
    EPOCHS,
    "more epochs (`compare.epochs: {{{adaptation}: …}}`)",
)
LOWEST = Shortfall(
    "the lowest learning rate that was tried is the best",
    LOWER,
    "a lower rate (`compare.learning_rates: {{{adaptation}: […]}}`)",
)
HIGHEST = Shortfall(
    "the highest learning rate that was tried is the best",
    HIGHER,
    "a higher rate (`compare.learning_rates: {{{adaptation}: […]}}`)",
)
AT_CHANCE = Shortfall(
    "it is at the baseline, and others are above it",
    EPOCHS,
    "more epochs or other rates for {adaptation}",
)


def not_trained_to_the_end(content: Content) -> dict[str, Shortfall]:
    """The pretrained cells that are not, by id."""
    tests, point = content.baseline.cells, METRICS[content.metric].point
    lead = CHANCE * point
    chance = {name for name, test in tests.items() if not test.above and test.difference < lead}
    floor = content.baseline.score + lead
    others_are = [test.above for test in tests.values()]
    others_are += [reference.score >= floor for reference in content.references]
    chance = chance if any(others_are) else set()
    shortfalls = {
        cell.id: _shortfall(cell, cell.id in chance, point)
        for cell in content.cells
        if cell.pretrained and cell.results.trained
    }
    return {name: shortfall for name, shortfall in shortfalls.items() if shortfall}


def _shortfall(cell: ScoredCell, is_at_chance: bool, point: float) -> Shortfall | None:
    if rises(cell.curves, point):
        return RISES
    edge = at_an_edge(cell.tried, cell.learning_rate, point)
    return edge or (AT_CHANCE if is_at_chance else None)


def rises(curves: Sequence[Sequence[float | None]], point: float) -> bool:
    """Whether in more than half of the curves the last epoch is the best by more than `RISING`
    points."""
    known, least = [[one for one in curve if one is not None] for curve in curves], RISING * point
    rising = [curve for curve in known if len(curve) > 1 and curve[-1] > max(curve[:-1]) + least]
    return 2 * len(rising) > len(known)


def at_an_edge(trials: Sequence[Trial], chosen: float | None, point: float) -> Shortfall | None:
    """`LOWEST` or `HIGHEST` if the chosen rate is that one, and better than its neighbour."""
    tried = sorted(trials, key=lambda trial: trial.learning_rate)
    if len(tried) < FEWEST_RATES:
        return None
    scores = [-math.inf if trial.score is None else trial.score for trial in tried]
    for shortfall, edge, neighbour in ((LOWEST, 0, 1), (HIGHEST, -1, -2)):
        is_chosen = tried[edge].learning_rate == chosen
        if is_chosen and scores[edge] > scores[neighbour] + RISING * point:
            return shortfall
    return None
