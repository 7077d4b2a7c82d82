"""The choices in an answer, each with what is true: what confusion matrices and lists of errors are
made of. Plain Python."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from tf_adapt.data.by_kind.labelled_parts import entities
from tf_adapt.tasks.tag_schemes import WORDS

NOTHING = "none"  # no entity
Rows = list[list[Any]]


@dataclass(frozen=True)
class Choice:
    """One choice of an answer.

    Attributes:
        part: what was chosen for: a label of a set, the words of an entity; "" for the example.
        true, answer: what is true, and what was answered.
        weight: how much an error counts: the confidence of the answer, or for numbers the distance;
            None: not known.
    """

    part: str
    true: Any
    answer: Any
    weight: float | None

    @property
    def is_wrong(self) -> bool:
        """Whether something else is true."""
        return self.true != self.answer


@dataclass(frozen=True)
class Choices:
    """The choices of a kind of task.

    Args:
        of: example, gold, answer, probabilities (see `Prediction.scores`; None: not known), labels,
            tag scheme → the choices.
        confusion: all choices, labels → the rows of a table; None: there is none.
        part: the name of the column of `Choice.part`; None: none.
        weight: that of `Choice.weight`.
    """

    of: Callable[..., Iterable[Choice]]
    confusion: Callable[[Sequence[Choice], Sequence[str]], Rows] | None = None
    part: str | None = None
    weight: str = "confidence"


def _label(example: Any, gold: Any, answer: Any, scores: Any, labels: Any, scheme: Any):
    yield Choice("", gold, answer, scores and scores[labels.index(answer)])


def _set(example: Any, gold: Any, answer: Any, scores: Any, labels: Any, scheme: Any):
    for number, label in enumerate(labels):
        answered = label in answer
        score = scores and (scores[number] if answered else 1 - scores[number])
        yield Choice(label, _yes(label in gold), _yes(answered), score)


def _yes(value: bool) -> str:
    return "yes" if value else "no"


def _tags(example: Any, gold: Any, answer: Any, scores: Any, labels: Any, scheme: Any):
    true, found = (
        {place: kind for kind, place in entities(tags, scheme)} for tags in (gold, answer)
    )
    for place in sorted(true.keys() | found.keys()):
        start, end = (place, place + 1) if scheme == WORDS else place
        score = min(scores[start:end]) if scores else None
        words = " ".join(example.words[start:end])
        yield Choice(words, true.get(place, NOTHING), found.get(place, NOTHING), score)


def _number(example: Any, gold: Any, answer: Any, scores: Any, labels: Any, scheme: Any):
    yield Choice("", gold, answer, abs(answer - gold))


def _span(example: Any, gold: Any, answer: Any, scores: Any, labels: Any, scheme: Any):
    right = answer in gold or not (answer or gold)
    yield Choice("", answer if right else " | ".join(gold), answer, scores and scores[0])


def _reply(example: Any, gold: Any, answer: Any, scores: Any, labels: Any, scheme: Any):
    yield Choice("", gold, answer[0], None)


def _matrix(choices: Sequence[Choice], labels: Sequence[str]) -> Rows:
    counts = Counter((choice.true, choice.answer) for choice in choices)
    return [
        ["true, then answered", *labels],
        *[[true, *(counts[true, answer] for answer in labels)] for true in labels],
    ]


def _matrix_of_entities(choices: Sequence[Choice], labels: Sequence[str]) -> Rows:
    kinds = {kind for choice in choices for kind in (choice.true, choice.answer)} - {NOTHING}
    return _matrix(choices, [*sorted(kinds), NOTHING])


def _of_each_label(choices: Sequence[Choice], labels: Sequence[str]) -> Rows:
    counts = Counter((choice.part, choice.true, choice.answer) for choice in choices)
    cases = [(true, answer) for true in ("yes", "no") for answer in ("yes", "no")]
    return [
        ["label", "true positives", "false negatives", "false positives", "true negatives"],
        *[[label, *(counts[label, *case] for case in cases)] for label in labels],
    ]


LABEL = Choices(_label, _matrix)
SET = Choices(_set, _of_each_label, part="label")
TAGS = Choices(_tags, _matrix_of_entities, part="entity")
NUMBER = Choices(_number, weight="distance")
SPAN = Choices(_span)
REPLY = Choices(_reply)
