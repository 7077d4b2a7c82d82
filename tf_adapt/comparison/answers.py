"""The predictions of a comparison's runs: read, counted by label, and where cells disagree."""

from collections import Counter

from tf_adapt.comparison.baseline import gold_labels
from tf_adapt.comparison.runs import CellRun, Outcomes
from tf_adapt.data.formats import TaggedSentence
from tf_adapt.data.splits import Splits
from tf_adapt.errors import ArtifactError
from tf_adapt.prediction_files import read_predictions

SHOWN_DISAGREEMENTS = 20


def predictions_of(run: CellRun, splits: Splits, split: str) -> list:
    """What a run says of each example of a split.

    Raises:
        ArtifactError: the predictions are missing, damaged, or of another number of examples.
    """
    found = read_predictions(run.folder, split, splits.kind)
    expected = len(splits.examples[split])
    if len(found) != expected:
        raise ArtifactError(
            f"{run.folder}: expected predictions of {expected} {split} examples, got "
            f"{len(found)}; remove the run folder and run the command again"
        )
    return found


def confusion(
    runs: list[CellRun], splits: Splits, split: str, predictions: dict
) -> list[list[int]] | None:
    """Rows: the true label; columns: the predicted one; summed over seeds."""
    if splits.kind not in ("classification", "pair_classification"):
        return None
    said = [predictions[run.folder] for run in runs if run.folder in predictions]
    if not said:
        return None
    gold = gold_labels(splits, split)
    counts = Counter(pair for labels in said for pair in zip(gold, labels, strict=True))
    return [[counts[true, other] for other in splits.labels] for true in splits.labels]


def disagreements(outcomes: Outcomes, splits: Splits, split: str, predictions: dict) -> list[dict]:
    """Examples of which cells say different things, most evenly split first; first seed."""
    cells = [cell for cell in outcomes.comparison.cells if cell.pretrained]
    said = {
        cell.name: predictions[run.folder]
        for cell in cells
        for run in outcomes.final_runs(cell)[:1]
        if run.folder in predictions
    }
    if splits.kind == "pair_regression" or len(said) < 2:
        return []
    found, gold = [], gold_labels(splits, split)
    for number, example in enumerate(splits.examples[split]):
        answers = {name: labels[number] for name, labels in said.items()}
        right = sum(answer == gold[number] for answer in answers.values())
        if 0 < right < len(answers):
            found.append((abs(2 * right - len(answers)), number, example, answers))
    found.sort(key=lambda entry: entry[:2])
    return [
        {
            "where": example.where,
            "text_a": _text(example),
            "text_b": getattr(example, "text_b", None),
            "label": _shown(gold[number]),
            "answers": {name: _shown(answer) for name, answer in answers.items()},
        }
        for _, number, example, answers in found[:SHOWN_DISAGREEMENTS]
    ]


def _text(example) -> str:
    return " ".join(example.words) if isinstance(example, TaggedSentence) else example.text_a


def _shown(label) -> str:
    return " ".join(label) if isinstance(label, list) else str(label)
