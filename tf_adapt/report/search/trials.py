"""The trials of a search, as values of a report. Imports no TensorFlow."""

from dataclasses import dataclass
from typing import Any

WHOLE, STOPPED, DIVERGED = "whole", "stopped", "diverged"


@dataclass(frozen=True, kw_only=True)
class SearchedTrial:
    """A trial.

    Attributes:
        fold: with folds the one whose setting it is for.
        values: by key of a run's config.
        score: on the split for model selection; None: it diverged, or the score is undefined.
        epochs: that it trained; None: it diverged.
        ended: WHOLE, STOPPED by the pruner, or DIVERGED.
        chosen: whether the runs that are scored have its values.
    """

    number: int
    fold: int | None
    values: dict[str, Any]
    score: float | None
    epochs: int | None
    ended: str
    seconds: float | None
    chosen: bool


@dataclass(frozen=True, kw_only=True)
class CellTrials:
    """The trials of a cell.

    Attributes:
        importance: of each key for the score, in sum 1; with folds the mean over them; empty:
            unknown.
        expected_best: the expected best score of 1, 2, … trials; with folds the mean over them;
            empty: no trial has a score.
        seconds: of all trials that finished.
    """

    trials: list[SearchedTrial]
    importance: dict[str, float]
    expected_best: list[float]
    seconds: float


@dataclass(frozen=True, kw_only=True)
class SearchResults:
    """A search, the same in all cells.

    Attributes:
        trials, minutes: the budget of a cell (of trials: with folds of each fold).
        cells: by id.
    """

    sampler: str
    pruner: str
    trials: int
    minutes: float | None
    cells: dict[str, CellTrials]
