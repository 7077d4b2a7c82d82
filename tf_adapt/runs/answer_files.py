"""Files on the answers to labelled examples: a confusion matrix, and the errors.

Imports no TensorFlow.
"""

import csv
import io
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from hub_modules.storage.files import write_text
from tf_adapt.data.formats import Record, TaggedSentence
from tf_adapt.data.kinds import KINDS

CONFUSION, ERRORS = "confusion.csv", "errors.csv"
Example = Record | TaggedSentence


def write_answer_files(
    folder: Path,
    kind: str,
    examples: Sequence[Example],
    answers: Sequence[tuple[list, list | None]],
    labels: Sequence[str] | None,
    scheme: str | None,
) -> list[str]:
    """Writes `confusion.csv` (not for numbers and answers to questions) and `errors.csv`.

    Args:
        answers: of each model the answers, in the form of `tf_adapt.runs.prediction_files`, with
            the probabilities of each (see `Prediction.scores`), where they are known. The matrix is
            summed over models, the errors are those of the first, the most confident first.

    Returns:
        The names of the files.

    Raises:
        ArtifactError: a file cannot be written.
    """
    of_models = [_choices(kind, examples, *of_model, labels, scheme) for of_model in answers]
    row, names = KINDS[kind].choices, [ERRORS]
    if row.confusion is not None:
        every = [choice for of_model in of_models for choice in chain.from_iterable(of_model)]
        write_text(folder / CONFUSION, table_text(row.confusion(every, labels)))
        names = [CONFUSION, ERRORS]
    wrong = [
        (example, choice)
        for example, of_example in zip(examples, of_models[0], strict=True)
        for choice in of_example
        if choice.is_wrong
    ]
    wrong.sort(key=lambda error: -(error[1].weight or 0))
    part = [row.part] if row.part else []
    header = ["where", *text_columns(examples), *part, "true", "answer", row.weight]
    rows = [
        [
            *located_texts(example),
            *([choice.part] if part else []),
            choice.true,
            choice.answer,
            rounded(choice.weight),
        ]
        for example, choice in wrong
    ]
    write_text(folder / ERRORS, table_text([header, *rows]))
    return names


def _choices(
    kind: str,
    examples: Sequence[Example],
    answers: list,
    scores: list | None,
    labels: Sequence[str] | None,
    scheme: str | None,
) -> list[list]:
    """The choices of each example."""
    row = KINDS[kind]
    return [
        list(row.choices.of(example, row.gold(example), answer, of_each, labels, scheme))
        for example, answer, of_each in zip(
            examples, answers, scores or [None] * len(examples), strict=True
        )
    ]


def text_columns(examples: Sequence[Example]) -> list[str]:
    """The names of an example's texts."""
    return ["text"] if getattr(examples[0], "text_b", None) is None else ["text_a", "text_b"]


def located_texts(example: Example) -> list[str]:
    """Where an example stands, and its texts; the words of a sentence as one."""
    second = getattr(example, "text_b", None)
    return [example.where, example.shown, *([] if second is None else [second])]


def rounded(value: float | None) -> Any:
    """A number of a table; empty where there is none."""
    return "" if value is None else f"{value:.4f}"


def table_text(rows: Sequence[Sequence[Any]]) -> str:
    """CSV, as RFC 4180 has it."""
    content = io.StringIO()
    csv.writer(content).writerows(rows)
    return content.getvalue()
