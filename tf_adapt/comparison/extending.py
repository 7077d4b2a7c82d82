"""What a comparison adds to its cells by itself: decided once, before anything is tested.

It is decided on dev, by the trials of learning rates, whose seed is not scored; with a single rate,
which has no trials, by the learning curves of all seeds. Scored answers are not read. Imports no
TensorFlow.
"""

from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from tf_adapt.comparison.baseline import baseline_of
from tf_adapt.comparison.baselines.references import dev_scores
from tf_adapt.comparison.budget.progress import decided, read_progress
from tf_adapt.comparison.cell_results import CHOSEN_ON, dev_curve, tried_rates
from tf_adapt.comparison.execution.fold_outcomes import FoldOutcomes
from tf_adapt.comparison.execution.outcomes import Outcomes
from tf_adapt.comparison.execution.runs import CellRun
from tf_adapt.comparison.plan.cells import EPOCHS, Cell, Comparison, Extension
from tf_adapt.comparison.plan.extension import extended, in_words
from tf_adapt.comparison.record import read_record, write_record
from tf_adapt.comparison.verdict.training_ended import (
    AT_CHANCE,
    CHANCE,
    RISES,
    Shortfall,
    at_an_edge,
    rises,
)
from tf_adapt.data.splits.read_splits import Splits
from tf_adapt.statistics.metrics import METRICS

# Trains all unfinished runs.
Run = Callable[[Outcomes], None]


def extend(
    comparison: Comparison,
    splits: Splits,
    out: Path,
    run: Run,
    say: Callable[[str], None],
) -> None:
    """Decides what is added, and writes it into the record, unless it was decided before.

    A comparison that is ended by its final analysis stays as it is.

    Args:
        run: trains all unfinished runs.
        say: prints a sentence.
    """
    record = read_record(out)
    is_final = any(look["final"] for look in record["looks"])
    if not comparison.extend or record["extended"] is not None or is_final:
        return
    outcomes = FoldOutcomes if comparison.folds else Outcomes
    judged = outcomes(judging(comparison), out, trials_only=comparison.trials > 1)
    run(judged)
    added = extensions(judged, splits)
    plain = {name: asdict(extension) for name, extension in added.items()}
    write_record(out, record | {"extended": plain})
    for sentence in in_words(replace(comparison, extensions=added), {}):
        say(sentence)


def outcomes_of(comparison: Comparison, out: Path) -> Outcomes:
    """The runs of a comparison, with what was added to it by the record of its folder; within
    minutes those of its finalists."""
    outcomes = FoldOutcomes if comparison.folds else Outcomes
    comparison = decided(comparison, read_progress(out))
    return outcomes(extended(comparison, _read_extensions(read_record(out)["extended"])), out)


def judging(comparison: Comparison) -> Comparison:
    """The part of a comparison whose runs decide: the largest number of training examples, and the
    cells that need no other cell's final runs."""
    cells = tuple(cell for cell in comparison.cells if cell.teacher is None)
    return replace(comparison, cells=cells, sizes=comparison.sizes[-1:])


def extensions(outcomes: Outcomes, splits: Splits) -> dict[str, Extension]:
    """What is added by adaptation, from the finished runs of `judging`; empty: nothing."""
    by_adaptation: dict[str, dict[str, Shortfall]] = {}
    for cell, shortfall in _shortfalls(outcomes, splits):
        by_adaptation.setdefault(cell.config.adaptation.name, {})[cell.name] = shortfall
    return {name: _extension(shortfalls) for name, shortfalls in by_adaptation.items()}


def _read_extensions(record: dict[str, Any] | None) -> dict[str, Extension]:
    """The extensions of a record; None: it is not decided."""
    return {
        name: Extension(values["epochs"], tuple(values["rates"]), values["why"])
        for name, values in (record or {}).items()
    }


def _extension(shortfalls: dict[str, Shortfall]) -> Extension:
    added = sorted({shortfall.adds for shortfall in shortfalls.values()})
    why = {name: shortfall.why for name, shortfall in shortfalls.items()}
    return Extension(EPOCHS in added, tuple(end for end in added if end != EPOCHS), why)


def _shortfalls(outcomes: Outcomes, splits: Splits) -> list[tuple[Cell, Shortfall]]:
    """The pretrained cells that are not trained to the end, with the reason."""
    judged = [
        (cell, finished)
        for cell in outcomes.comparison.cells
        if cell.pretrained and (finished := _judged(outcomes, cell))
    ]
    if not judged:
        return []
    metric = outcomes.metrics(judged[0][1][0])["metric"]
    point = METRICS[metric].point
    floor = baseline_of(splits, metric, CHOSEN_ON, CHOSEN_ON).scores[CHOSEN_ON] + CHANCE * point
    is_above = [_score(outcomes, cell, finished) >= floor for cell, finished in judged]
    others_are = any(is_above) or max(dev_scores(splits, metric), default=0.0) >= floor
    found = []
    for (cell, finished), above in zip(judged, is_above, strict=True):
        at_chance = AT_CHANCE if others_are and not above else None
        rises_still = _still_rises(outcomes, cell, finished, metric)
        shortfall = rises_still or _edge(outcomes, cell, point) or at_chance
        found += [] if shortfall is None else [(cell, shortfall)]
    return found


def _judged(outcomes: Outcomes, cell: Cell) -> list[CellRun]:
    """The finished trainings that decide: trials; without any, those of the scored seeds. None of a
    cell that has no learning rate left."""
    if outcomes.is_hopeless(cell):
        return []
    seeds = [run for final in outcomes.scored_runs(cell) for run in final.members or [final]]
    return [run for run in outcomes.trials(cell) or seeds if outcomes.metrics(run)]


def _score(outcomes: Outcomes, cell: Cell, finished: list[CellRun]) -> float:
    """The dev score of the chosen trial, or the mean of several."""
    finished = outcomes.chosen_trials(cell) or finished
    return float(np.mean([outcomes.score(run, CHOSEN_ON) or 0.0 for run in finished]))


def _still_rises(
    outcomes: Outcomes, cell: Cell, finished: list[CellRun], metric: str
) -> Shortfall | None:
    """With most of the trainings; of trials also with the chosen one."""
    chosen = outcomes.chosen_trials(cell) or finished
    judged = [[dev_curve(run, metric) for run in group] for group in (finished, chosen)]
    point = METRICS[metric].point
    return RISES if all(rises(curves, point) for curves in judged) else None


def _edge(outcomes: Outcomes, cell: Cell, point: float) -> Shortfall | None:
    return at_an_edge(tried_rates(outcomes, cell), outcomes.chosen_rate(cell), point)
