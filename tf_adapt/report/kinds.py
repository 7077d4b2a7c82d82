"""What a report says of each kind of task."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tf_adapt.printing.words import amount, shortened, visible

LONGEST_LABEL = 40


@dataclass(frozen=True)
class Row:
    """What a report says of a kind of task.

    Attributes:
        baseline: the baseline's constant prediction → what is always predicted, as text.
    """

    baseline: Callable[[Any], str]


def _label(answer: str) -> str:
    return visible(repr(shortened(answer, LONGEST_LABEL)))


def _labels(answer: list[str]) -> str:
    return visible(shortened(", ".join(map(repr, answer)), LONGEST_LABEL)) or "no label"


def _tag(answer: str) -> str:
    return answer if answer == "O" else _label(answer)


def _mean(answer: float) -> str:
    return f"{amount(answer)}, train's mean"


def _no_answer(answer: str) -> str:
    return "no answer"


def _byte_counts(answer: list[int]) -> str:
    return "bytes by their frequency in train, random choice"


_CLASSIFICATION, _REGRESSION = Row(_label), Row(_mean)
KINDS: dict[str, Row] = {
    "classification": _CLASSIFICATION,
    "multilabel_classification": Row(_labels),
    "regression": _REGRESSION,
    "pair_classification": _CLASSIFICATION,
    "pair_regression": _REGRESSION,
    "tagging": Row(_tag),
    "span_extraction": Row(_no_answer),
    "dialog": Row(_byte_counts),
    "text_generation": Row(_byte_counts),
}
