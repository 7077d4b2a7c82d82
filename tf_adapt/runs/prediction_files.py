"""The predictions in a run folder, with hashes in its record. Imports no TensorFlow."""

from collections.abc import Callable
from pathlib import Path

from hub_modules.storage import records
from tf_adapt.errors import ArtifactError
from tf_adapt.runs.kinds import KINDS, tag_lines


def write_predictions(run: Path, split: str, text: str, task: str | None = None) -> None:
    """Writes the result of `prediction_forms.predictions_text` into a run folder.

    Args:
        task: of a run of several tasks.

    Raises:
        ArtifactError: not writable.
    """
    records.write(run, _name(split if task is None else f"{task}/{split}"), text)


def read_predictions(run: Path, split: str, kind: str, task: str | None = None) -> list:
    """The predictions of a finished run for each example of a split, in input order.

    Args:
        run: the run folder.
        kind: of the task.
        task: of a run of several tasks.

    Returns:
        For each example its label; regression: a number; multilabel classification: a sorted tuple
        of labels; tagging: a list of tags; span extraction: the answer, "" for none; written
        texts: the text, `log p` of the right one, and of a reply whether the right one of four was
        chosen (1 or 0).

    Raises:
        ArtifactError: the file is missing or damaged.
    """
    row = KINDS[kind]
    return _read(
        run, split, task, lambda text: [row.prediction(one) for one in _FORMS[row.form](text)]
    )


def read_probabilities(
    run: Path, split: str, kind: str, task: str | None = None
) -> list[list[float]] | None:
    """The probability of each label, in the order of the labels, for each example of a split; in
    tagging that of each word's tag.

    None for files that hold none: of some kinds, and of taggers by an earlier version.

    Raises:
        ArtifactError: as `read_predictions`.
    """
    return _read(run, split, task, KINDS[kind].probabilities)


def _read(
    run: Path, split: str, task: str | None, parse: Callable[[str], list | None]
) -> list | None:
    name = _name(split if task is None else f"{task}/{split}")
    content = records.read(run, name)
    try:
        return parse(content.decode("utf-8").removesuffix("\n"))
    except ValueError as error:
        raise ArtifactError(
            f"{run / name}: not predictions ({error}); remove the run folder {run} and "
            "make the run again"
        ) from None


def _second_columns(text: str) -> list[list[str]]:
    return [[tag for _, tag, *_ in lines] for lines in tag_lines(text)]


def _all_columns(text: str) -> list[list[str]]:
    return [line.split("\t") for line in text.split("\n")[1:]]


_FORMS = {"conll": _second_columns, "tsv": _all_columns}


def _name(split: str) -> str:
    return f"predictions/{split}.tsv"
