"""What a search found, for the report. Imports no TensorFlow."""

from collections.abc import Sequence

import numpy as np

from tf_adapt.comparison.execution.outcomes import Outcomes
from tf_adapt.comparison.execution.runs import CellRun
from tf_adapt.comparison.plan.cells import Cell
from tf_adapt.comparison.search.studies import PastTrial, importances
from tf_adapt.comparison.search.trials import past_trial, spent
from tf_adapt.report.search.trials import (
    DIVERGED,
    STOPPED,
    WHOLE,
    CellTrials,
    SearchedTrial,
    SearchResults,
)
from tf_adapt.statistics.expected_best import expected_best


def search_results(outcomes: Outcomes) -> SearchResults | None:
    """The trials of all cells; None: there is no search."""
    section = outcomes.comparison.search
    if section is None:
        return None
    return SearchResults(
        sampler=section.sampler,
        pruner=section.pruner,
        trials=section.trials,
        minutes=section.minutes,
        cells={cell.name: _cell(outcomes, cell) for cell in outcomes.comparison.cells},
    )


def _cell(outcomes: Outcomes, cell: Cell) -> CellTrials:
    runs = [run for run in outcomes.trials(cell) if outcomes.is_over(run)]
    chosen = outcomes.chosen_trials(cell) if outcomes.chosen(cell) is not None else []
    past = [past_trial(run, outcomes.metrics(run)) for run in runs]
    trials = [
        _trial(outcomes, run, of_run, run in chosen) for run, of_run in zip(runs, past, strict=True)
    ]
    folds: dict[int | None, list[PastTrial]] = {}
    for trial, of_run in zip(trials, past, strict=True):
        folds.setdefault(trial.fold, []).append(of_run)
    return CellTrials(
        trials=trials,
        importance=_importance(cell, list(folds.values())),
        expected_best=_expected(list(folds.values())),
        seconds=round(sum(trial.seconds or 0.0 for trial in trials), 2),
    )


def _trial(outcomes: Outcomes, run: CellRun, past: PastTrial, chosen: bool) -> SearchedTrial:
    metrics = outcomes.metrics(run)
    ended = STOPPED if past.stopped else WHOLE
    return SearchedTrial(
        number=run.setting.number,
        fold=None if run.fold is None else run.fold.leave_out,
        values=dict(past.values),
        score=past.score,
        epochs=None if metrics is None else metrics["epochs"],
        ended=DIVERGED if metrics is None else ended,
        seconds=None if metrics is None else round(spent(metrics), 2),
        chosen=chosen,
    )


def _importance(cell: Cell, folds: Sequence[Sequence[PastTrial]]) -> dict[str, float]:
    """The mean over the folds in which it is known, by key."""
    names = {values.name: values.key for values in cell.search.space}
    known = [found for past in folds if (found := importances(cell.search.space, past))]
    keys: dict[str, float] = {}
    for found in known:
        for name, share in found.items():
            keys[names[name]] = keys.get(names[name], 0.0) + share / len(known)
    return dict(sorted(keys.items(), key=lambda item: -item[1]))


def _expected(folds: Sequence[Sequence[PastTrial]]) -> list[float]:
    """The mean over folds, for as many trials as all have; a trial that diverged is as good as the
    worst that did not."""
    curves = []
    for past in folds:
        known = [trial.score for trial in past if trial.score is not None]
        if known:
            scores = [min(known) if trial.score is None else trial.score for trial in past]
            curves.append(expected_best(scores))
    shortest = min(map(len, curves), default=0)
    return [float(np.mean([curve[k] for curve in curves])) for k in range(shortest)]
