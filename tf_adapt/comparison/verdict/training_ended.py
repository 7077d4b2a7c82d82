"""Which cells were not trained to the end, by their curves, learning rates and scores.

A cell that would be better with more epochs or another rate is neither a loser nor a winner yet.
"""

from dataclasses import dataclass

from tf_adapt.report.content import Content
from tf_adapt.report.scored_cells import ScoredCell

# Half a point: a rise or a lead on dev below it says nothing.
RISING = 0.005
# A lead over the baseline below two points is chance where other cells are above it.
CHANCE = 0.02
# The best of two rates is always at an edge of the list.
FEWEST_RATES = 3


@dataclass(frozen=True)
class Unended:
    """Why a cell is not trained to the end, and what to do about it, as phrases."""

    why: str
    mend: str


def not_trained_to_the_end(content: Content) -> dict[str, Unended]:
    """The pretrained cells that are not, by id."""
    tests = content.baseline.cells
    chance = {name for name, test in tests.items() if not test.above and test.difference < CHANCE}
    chance = chance if any(test.above for test in tests.values()) else set()
    unended = {
        cell.id: _still_rises(cell) or _at_an_edge(cell) or _at_chance(cell, chance)
        for cell in content.cells
        if cell.pretrained and cell.results.trained
    }
    return {name: reason for name, reason in unended.items() if reason}


def _still_rises(cell: ScoredCell) -> Unended | None:
    """With more than half of the seeds the last epoch is the best by more than `RISING`."""
    curves = [[score for score in curve if score is not None] for curve in cell.curves]
    rising = [curve for curve in curves if len(curve) > 1 and curve[-1] > max(curve[:-1]) + RISING]
    if 2 * len(rising) <= len(curves):
        return None
    return Unended(
        "its best epoch is the last, and the score on dev still rises",
        f"more epochs (`compare.epochs: {{{cell.adaptation}: …}}`)",
    )


def _at_an_edge(cell: ScoredCell) -> Unended | None:
    """The chosen rate is the lowest or highest tried, and better than its neighbour."""
    tried = sorted(cell.tried, key=lambda trial: trial.learning_rate)
    scores = [trial.score for trial in tried]
    if len(tried) < FEWEST_RATES or None in scores:
        return None
    for side, (edge, next_to_it) in {"lowest": (0, 1), "highest": (-1, -2)}.items():
        is_chosen = tried[edge].learning_rate == cell.learning_rate
        if is_chosen and scores[edge] > scores[next_to_it] + RISING:
            direction = "lower" if side == "lowest" else "higher"
            return Unended(
                f"the {side} learning rate that was tried is the best",
                f"a {direction} rate (`compare.learning_rates: {{{cell.adaptation}: […]}}`)",
            )
    return None


def _at_chance(cell: ScoredCell, chance: set[str]) -> Unended | None:
    if cell.id not in chance:
        return None
    return Unended(
        "it is at the baseline, and others are above it",
        f"more epochs or other rates for {cell.adaptation}",
    )
