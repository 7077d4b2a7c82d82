"""Kinds of task → their predictions in a run folder and in an ensemble. Imports no TensorFlow."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tf_adapt.runs.ensemble_folder import PROBABILITIES, VOTES
from tf_adapt.tasks.label_sets import split_joined

_SCORED = re.compile(r".+\t[^\t]+\t([0-9.]+|nan)", re.DOTALL)


@dataclass(frozen=True)
class Row:
    """The predictions of a kind of task.

    Args:
        form: of the file, see `tf_adapt.serving.prediction.prediction_forms`.
        prediction: what of an example is in the file (tsv: its columns, conll: the tags) → as
            `read_predictions` returns it; a ValueError where it is none.
        label: a `Prediction` as `prediction` gives it.
        probabilities: the text of a file → of each example that of each label, in tagging of each
            word that of its tag; None: it has none.
        combinations: how the answers of an ensemble may be combined; the first is the default.
    """

    form: str
    prediction: Callable[[Any], Any]
    combinations: tuple[str, ...]
    label: Callable[[Any], Any] = lambda prediction: prediction.label
    probabilities: Callable[[str], list[list[float]] | None] = lambda text: None


def _label(columns: list[str]) -> str:
    return columns[0]


def _number(columns: list[str]) -> float:
    return float(columns[0])


def _label_set(columns: list[str]) -> tuple[str, ...]:
    return tuple(sorted(split_joined(columns[0])))


def _written(columns: list[str]) -> tuple[str | float, ...]:
    text, *scores = columns
    if not scores:  # of earlier versions
        raise ValueError("expected the log-probability of the right text beside each, got none")
    return (text, *map(float, scores))


def _written_label(prediction: Any) -> tuple[str | float, ...]:
    return (prediction.label, *prediction.scores)


def _columns_after(text: str) -> list[list[float]]:
    return [list(map(float, line.split("\t")[1:])) for line in text.split("\n")[1:]]


def tag_lines(text: str) -> list[list[list[str]]]:
    """By sentence the columns of each line: word, tag, and probability where all lines have one."""
    sentences = [part.split("\n") for part in text.split("\n\n")]
    scored = all(_SCORED.fullmatch(line) for lines in sentences for line in lines)
    # From the right: words of earlier versions may hold tabs, and have no probabilities.
    return [[line.rsplit("\t", 2 if scored else 1) for line in lines] for lines in sentences]


def _after_tags(text: str) -> list[list[float]] | None:
    sentences = tag_lines(text)
    if any(len(line) < 3 for sentence in sentences for line in sentence):  # of earlier versions
        return None
    return [[float(line[2]) for line in sentence] for sentence in sentences]


def _sorted_set(prediction: Any) -> tuple[str, ...]:
    return tuple(sorted(prediction.label))


def _tags(prediction: Any) -> list[str]:
    return list(prediction.label)


_LABEL = Row("tsv", _label, (PROBABILITIES, VOTES), probabilities=_columns_after)
_NUMBER = Row("tsv", _number, (PROBABILITIES,))
_TEXT = Row("tsv", _written, (), _written_label)
KINDS = {
    "classification": _LABEL,
    "multilabel_classification": Row(
        "tsv", _label_set, (PROBABILITIES,), _sorted_set, _columns_after
    ),
    "regression": _NUMBER,
    "pair_classification": _LABEL,
    "pair_regression": _NUMBER,
    "tagging": Row("conll", list, (PROBABILITIES, VOTES), _tags, _after_tags),
    "span_extraction": Row("tsv", _label, ()),
    "dialog": _TEXT,
    "text_generation": _TEXT,
}


def combinations_of(kind: str) -> tuple[str, ...]:
    """How the answers of an ensemble may be combined; empty for a kind that has no predictions."""
    return KINDS[kind].combinations if KINDS.get(kind) else ()
