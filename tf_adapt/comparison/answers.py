"""The predictions of a comparison's runs: reading, confusion matrices, disagreements."""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from tf_adapt.comparison.baseline import gold_labels
from tf_adapt.comparison.execution.outcomes import Outcomes
from tf_adapt.comparison.execution.runs import CellRun
from tf_adapt.comparison.kinds import KINDS
from tf_adapt.data.splits.folds import numbers_of_folds
from tf_adapt.data.splits.read_splits import Splits
from tf_adapt.errors import ArtifactError
from tf_adapt.report.content import Disagreement
from tf_adapt.runs.prediction_files import read_predictions

SHOWN_DISAGREEMENTS = 20
Predictions = dict[Path, list]  # by run folder


def predictions_of(run: CellRun, splits: Splits, split: str) -> Predictions:
    """A run's predictions on a split, one for each example, in input order; of a repeat those of
    the fold runs that did not see the example, and beside them each fold run's own.

    Raises:
        ArtifactError: the predictions are missing or damaged, or their number is wrong.
    """
    of_folds: Predictions = {}

    def of_run(one: CellRun, expected: int) -> list:
        of_folds[one.folder] = answers_of(one, splits.kind, split, expected)
        return of_folds[one.folder]

    return {run.folder: assembled(run, splits, split, of_run)} | of_folds


def assembled(
    run: CellRun, splits: Splits, split: str, read: Callable[[CellRun, int], list | None]
) -> list | None:
    """What is read of each example of a split, in input order; of a repeat from the fold runs that
    did not see the example.

    Args:
        read: a run and the number of its examples → what is read of each; None: there is nothing.
    """
    if not run.folds:
        return read(run, len(splits.examples[split]))
    fold_of = fold_of_examples(splits, len(run.folds), run.seed)
    of_examples = [None] * len(fold_of)
    for number, fold in enumerate(run.folds):
        places = np.flatnonzero(fold_of == number)
        of_fold = read(fold, len(places))
        if of_fold is None:
            return None
        for place, answer in zip(places, of_fold, strict=True):
            of_examples[place] = answer
    return of_examples


def fold_of_examples(splits: Splits, folds: int, repeat: int) -> np.ndarray:
    """The fold of a repeat that each example is in, `[examples] int`."""
    return numbers_of_folds(splits.pool, splits.kind, folds, repeat, splits.name)


def answers_of(run: CellRun, kind: str, split: str, expected: int) -> list:
    """A training's predictions on a split, in input order.

    Raises:
        ArtifactError: they are missing or damaged, or their number is not the expected one.
    """
    predictions = read_predictions(run.folder, split, kind, run.cell.config.target)
    if len(predictions) != expected:
        raise ArtifactError(
            f"{run.folder}: expected predictions of {expected} {split} examples, got "
            f"{len(predictions)}; remove the run folder and run the command again"
        )
    return predictions


def confusion(
    runs: list[CellRun], splits: Splits, split: str, predictions: Predictions
) -> list[list[int]] | None:
    """The confusion matrix, summed over seeds: `[true labels][predicted labels]`.

    None if the task is not single-label classification, or no run has finished.
    """
    of_seeds = [predictions[run.folder] for run in runs if run.folder in predictions]
    if not of_seeds:
        return None
    return KINDS[splits.kind].confusion(of_seeds, gold_labels(splits, split), splits.labels)


def disagreements(
    outcomes: Outcomes, splits: Splits, split: str, predictions: Predictions
) -> list[Disagreement]:
    """Examples that some cells predict correctly and others not, by the first seed.

    Most evenly split first, at most `SHOWN_DISAGREEMENTS`. Where none is right or wrong, samples:
    see `comparison.kinds.Row`.
    """
    cells = [cell for cell in outcomes.comparison.cells if cell.pretrained]
    of_cells = {
        cell.name: predictions[run.folder]
        for cell in cells
        for run in outcomes.final_runs(cell)[:1]
        if run.folder in predictions
    }
    row, gold, examples = KINDS[splits.kind], gold_labels(splits, split), splits.examples[split]
    chosen = _disputed(row.right_answers(of_cells, gold, splits.kind), len(gold))
    if of_cells and row.samples:
        steps = min(row.samples, len(gold))
        chosen = [(len(gold) * step // steps, []) for step in range(steps)]
    return [
        Disagreement(
            where=examples[number].where,
            text_a=examples[number].shown,
            text_b=getattr(examples[number], "text_b", None),
            label=row.shown(gold[number]),
            answers={name: row.shown(labels[number]) for name, labels in of_cells.items()},
            right=right,
        )
        for number, right in chosen
    ]


def _disputed(right_of: dict[str, list[bool]], count: int) -> list[tuple[int, list[str]]]:
    """The numbers of disputed examples, most evenly split first, and by which cells they are
    right."""
    disputed = []
    for number in range(count):
        right = [name for name, answers in right_of.items() if answers[number]]
        if 0 < len(right) < len(right_of):
            disputed.append((abs(2 * len(right) - len(right_of)), number, right))
    disputed.sort(key=lambda entry: entry[:2])
    return [(number, right) for _, number, right in disputed[:SHOWN_DISAGREEMENTS]]
