"""The labelled parts of an answer, which are right or wrong one by one. Plain Python."""

from collections.abc import Iterable, Sequence
from typing import Any

from tf_adapt.tasks.spans import spans
from tf_adapt.tasks.tag_schemes import WORDS

Parts = list[tuple[str, Any]]  # each with its label and its place


def one_label(label: str, scheme: str | None) -> Parts:
    """A label."""
    return [(label, 0)]


def set_of_labels(labels: Iterable[str], scheme: str | None) -> Parts:
    """Each label of a set."""
    return [(label, 0) for label in labels]


def entities(tags: Sequence[str], scheme: str | None) -> Parts:
    """Each entity of a sentence; in the scheme `words` each tag."""
    if scheme == WORDS:
        return [(tag, place) for place, tag in enumerate(tags)]
    return [(kind, (start, end)) for kind, start, end in spans(tags)]


def none(answer: Any, scheme: str | None) -> Parts:
    """None: an answer has no label."""
    return []
