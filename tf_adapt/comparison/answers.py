"""The predictions of a comparison's runs: reading, confusion matrices, disagreements."""

from pathlib import Path

from tf_adapt.comparison.baseline import gold_labels
from tf_adapt.comparison.execution.runs import CellRun, Outcomes
from tf_adapt.comparison.kinds import KINDS
from tf_adapt.data.formats import TaggedSentence
from tf_adapt.data.splits.read_splits import Splits
from tf_adapt.errors import ArtifactError
from tf_adapt.report.content import Disagreement
from tf_adapt.runs.prediction_files import read_predictions

SHOWN_DISAGREEMENTS = 20
Predictions = dict[Path, list]  # by run folder


def predictions_of(run: CellRun, splits: Splits, split: str) -> list:
    """A run's predictions on a split, one for each example, in input order.

    Raises:
        ArtifactError: the predictions are missing or damaged, or their number is wrong.
    """
    found = read_predictions(run.folder, split, splits.kind, run.cell.config.target)
    expected = len(splits.examples[split])
    if len(found) != expected:
        raise ArtifactError(
            f"{run.folder}: expected predictions of {expected} {split} examples, got "
            f"{len(found)}; remove the run folder and run the command again"
        )
    return found


def confusion(
    runs: list[CellRun], splits: Splits, split: str, predictions: Predictions
) -> list[list[int]] | None:
    """The confusion matrix, summed over seeds: `[true labels][predicted labels]`.

    None if the task is not single-label classification, or no run has finished.
    """
    said = [predictions[run.folder] for run in runs if run.folder in predictions]
    if not said:
        return None
    return KINDS[splits.kind].confusion(said, gold_labels(splits, split), splits.labels)


def disagreements(
    outcomes: Outcomes, splits: Splits, split: str, predictions: Predictions
) -> list[Disagreement]:
    """Examples that some cells predict correctly and others not, by the first seed.

    Most evenly split first, at most `SHOWN_DISAGREEMENTS`. Empty for regressions.
    """
    cells = [cell for cell in outcomes.comparison.cells if cell.pretrained]
    said = {
        cell.name: predictions[run.folder]
        for cell in cells
        for run in outcomes.final_runs(cell)[:1]
        if run.folder in predictions
    }
    if len(said) < 2:
        return []
    row, found, gold = KINDS[splits.kind], [], gold_labels(splits, split)
    right_of = row.right_answers(said, gold, splits.kind)
    for number, example in enumerate(splits.examples[split]):
        right = [name for name, answers in right_of.items() if answers[number]]
        if 0 < len(right) < len(said):
            found.append((abs(2 * len(right) - len(said)), number, example, right))
    found.sort(key=lambda entry: entry[:2])
    return [
        Disagreement(
            where=example.where,
            text_a=_text(example),
            text_b=getattr(example, "text_b", None),
            label=row.shown(gold[number]),
            answers={name: row.shown(labels[number]) for name, labels in said.items()},
            right=right,
        )
        for _, number, example, right in found[:SHOWN_DISAGREEMENTS]
    ]


def _text(example) -> str:
    return " ".join(example.words) if isinstance(example, TaggedSentence) else example.text_a
