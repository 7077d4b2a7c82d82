"""Scores of an ensemble and of its members, and the test against the best single run."""

from collections.abc import Sequence

import numpy as np

from tf_adapt.data.gold_answers import gold_answers
from tf_adapt.data.splits.groups import item_groups
from tf_adapt.runs.ensemble_folder import SplitResult
from tf_adapt.serving.prediction.prediction import Prediction
from tf_adapt.statistics.pairs import FEWEST_ITEMS
from tf_adapt.statistics.scores import item_statistics, of_groups, score_of
from tf_adapt.statistics.two_cells import compare_cells, sample_of
from tf_adapt.tasks.task import Task


def item_sums(task: Task, records: list, predictions: list[Prediction]) -> np.ndarray:
    """`item_statistics` of the task's metric, added up over dependent examples.

    Shapes: → `[items, k]`.
    """
    predicted = [prediction.label for prediction in predictions]
    gold = gold_answers(records, task.kind)
    rows = item_statistics(task.metric, predicted, gold, task.labels, task.scheme)
    return of_groups(rows, item_groups(records))


def score(metric: str, sums: np.ndarray) -> float:
    """The score of `item_sums`."""
    return float(score_of(metric, sums.sum(axis=0)))


def split_result(
    metric: str, members: Sequence[np.ndarray], ensemble: np.ndarray, best: int
) -> SplitResult:
    """The scores on a split, and `compare_cells` of the ensemble and the best single run.

    Each is one model, so that the test is about these two models on new items, not about new seeds.

    Args:
        members, ensemble: their `item_sums`.
        best: the index of the best single run on dev.
    """
    items = len(ensemble)
    test = compare_cells(sample_of(metric, ensemble[None]), sample_of(metric, members[best][None]))
    testable = items >= FEWEST_ITEMS and not np.array_equal(ensemble, members[best])
    return SplitResult(
        members=[score(metric, sums) for sums in members],
        ensemble=score(metric, ensemble),
        best=best,
        difference=test.difference,
        interval=list(test.interval) if testable else None,
        p=test.p if testable else None,
        items=items,
    )
