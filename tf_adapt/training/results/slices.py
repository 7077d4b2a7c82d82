"""The scores of a run's slices, from its predictions."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tf_adapt.data.gold_answers import gold_answers
from tf_adapt.data.slices import Examples
from tf_adapt.data.splits.groups import item_groups
from tf_adapt.data.splits.read_splits import Splits
from tf_adapt.errors import ArtifactError, DataError
from tf_adapt.runs import run_folder
from tf_adapt.runs.export_files import saved_task
from tf_adapt.runs.kinds import KINDS
from tf_adapt.runs.prediction_files import read_predictions
from tf_adapt.runs.slices import Members, Slices, checked_members, members_of
from tf_adapt.serving.prediction.prediction import Prediction
from tf_adapt.statistics.scores import item_statistics
from tf_adapt.statistics.slices import slice_score, with_challenging
from tf_adapt.tasks.task import Task

log = logging.getLogger(__name__)
# Of the tests of one run: see `statistics.slices.with_challenging`.
ALPHA = 0.05
Scores = dict[str, dict[str, Any] | None]


def slice_scores(
    slices: Slices, members: Members, task: Task, examples: Examples, predictions: Sequence
) -> Scores:
    """The plain values of each slice's `SliceScore`; Holm's correction is over the slices.

    None for a slice of which it is unknown whether these examples are in it. A slice with a rule
    `wrong_in` is not tested: errors chose it.

    Args:
        predictions: as `read_predictions` returns them.
    """
    gold = gold_answers(examples, task.kind)
    rows = item_statistics(task.metric, predictions, gold, task.labels, task.scheme)[None]
    groups = item_groups(examples)
    known = {
        name: slice_score(task.metric, rows, mask, groups, tested=slices[name].wrong_in is None)
        for name, mask in members.items()
        if mask is not None
    }
    results = dict(zip(known, with_challenging(list(known.values()), ALPHA), strict=True))
    return {name: asdict(results[name]) if name in results else None for name in members}


def scores_of_run(
    folder: Path,
    slices: Slices,
    members: dict[str, Members],
    task: Task,
    examples: dict,
    name: str | None = None,
) -> dict[str, Scores]:
    """`slice_scores` of each split, from the predictions in a run folder.

    Args:
        name: of the task, in a run of several.

    Raises:
        ArtifactError: they are missing or damaged.
    """
    return {
        split: slice_scores(
            slices,
            of_split,
            task,
            examples[split],
            read_predictions(folder, split, task.kind, name),
        )
        for split, of_split in members.items()
    }


def scores_of_predictions(
    slices: Slices, task: Task, records: list, predictions: list[Prediction]
) -> Scores:
    """`slice_scores`; None, with a warning, where a slice's file or run cannot be read."""
    predicted = [KINDS[task.kind].label(prediction) for prediction in predictions]
    members: Members = {}
    for name, rules in slices.items():
        try:
            members |= members_of({name: rules}, records, task.kind)
        except (ArtifactError, DataError) as error:
            log.warning("slice %s is not scored: %s", name, error)
            members[name] = None
    return slice_scores(slices, members, task, records, predicted)


def score_again(
    folder: Path,
    slices: Slices,
    with_heads: bool,
    target: str | None,
    read: Callable[[], Splits],
    metrics: dict[str, Any],
) -> dict[str, Any]:
    """Scores slices on the predictions of a finished run; returns its metrics.

    Nothing is trained; the run's config then has these slices. Requires the lock.

    Args:
        with_heads: whether each slice has a head of its own.
        target: of several tasks, or None.
        read: the splits, of several tasks those of the target.

    Raises:
        ConfigError, DataError, ArtifactError: as `checked_members`.
    """
    metrics = {name: value for name, value in metrics.items() if name != "slices"}
    if slices:
        saved, splits = run_folder.saved_task(folder), read()
        members = checked_members(slices, splits, with_heads)
        task = saved_task(saved.task or saved.tasks[target], folder / run_folder.TASK)
        metrics["slices"] = scores_of_run(folder, slices, members, task, splits.examples, target)
    # The config last: if it is not written, the next call does this again.
    run_folder.write_metrics(folder, metrics)
    run_folder.write_slices(folder, {name: rules.model_dump() for name, rules in slices.items()})
    return metrics
