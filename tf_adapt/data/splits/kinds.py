"""Kinds of task → what belongs together in the splits of a run, and what train says of the task."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from tf_adapt.data.by_kind.span_extraction import span_search
from tf_adapt.data.by_kind.tagging import in_task_scheme
from tf_adapt.data.labels import check_labels, label_set
from tf_adapt.data.splits.cut import cut_off
from tf_adapt.data.splits.strata import Strata
from tf_adapt.data.splits.subsampling import document_indices, example_indices
from tf_adapt.data.stored.sequences import at
from tf_adapt.errors import DataError
from tf_adapt.tasks.span_search import SpanSearch

HELD_OUT_SEED = 31
StrataOf = Callable[[list], Strata | None]


def cut_together(
    examples: list, count: int, strata: StrataOf = lambda examples: None
) -> tuple[list, list]:
    """About `count` examples with what belongs to them, and the others."""
    return cut_off(examples, count, HELD_OUT_SEED, "data.held_out", strata(examples))


def cut_at_random(examples: list, count: int, indices: Callable) -> tuple[list, list]:
    """`count` random examples, and the others."""
    picked = indices(examples, count, HELD_OUT_SEED)
    others = np.setdiff1d(np.arange(len(examples)), picked)
    return at(examples, picked), at(examples, others)


def _cut_examples(examples: list, count: int) -> tuple[list, list]:
    return cut_at_random(examples, count, example_indices)


def _cut_documents(examples: list, count: int) -> tuple[list, list]:
    return cut_at_random(examples, count, document_indices)


def _label_names(given: list[str] | None, train: list, where: str) -> list[str]:
    return label_set(train, where) if given is None else given


def _no_labels(given: list[str] | None, train: list, where: str) -> None:
    return None


def check_varied(train: list, where: str) -> None:
    """Refuses a train split of one label, or one set of labels, from which nothing is learnt."""
    _check_several({example.label for example in train}, where)


def _check_tags(train: list, where: str) -> None:
    _check_several(set(chain.from_iterable(example.tags for example in train)), where)


def _check_several(labels: set, where: str) -> None:
    if len(labels) == 1:
        raise DataError(
            f"{where}: expected examples of at least two labels in train, got {labels.pop()!r} "
            "alone; add others, or correct the column of the labels"
        )


def _as_in_files(given: Any, data: Any, examples: dict, descriptions: dict) -> tuple:
    return data.labels, "IOB2"


def _by_label(examples: list) -> list[tuple]:
    return [
        example.label if isinstance(example.label, tuple) else (example.label,)
        for example in examples
    ]


def _by_tags(examples: list) -> list[tuple]:
    return [tuple(sorted(set(example.tags))) for example in examples]


def _by_fifth(examples: list) -> list[tuple]:
    """Numbers by the fifth that they are in."""
    labels = np.array([example.label for example in examples], np.float64)
    edges = np.quantile(labels, [0.2, 0.4, 0.6, 0.8])
    return [(int(fifth),) for fifth in np.searchsorted(edges, labels)]


@dataclass(frozen=True)
class Row:
    """A kind of task in the splits of a run.

    Args:
        held_out: examples of a named dataset's train, how many → those that play dev, the others.
        labels: those of a user's section, train, its name → those of the task.
        check_labels: see `tf_adapt.data.labels.check_labels`.
        check_train: refuses a user's labelled train from which nothing is learnt.
        labels_and_scheme: the section as given and as recognised, examples, descriptions → the
            section's labels and the tag scheme of the task, to which examples are brought.
        spans: the section, train → how answers are looked for.
        strata: examples → of each, what all folds and parts are to have equally much of.
    """

    held_out: Callable[[list, int], tuple[list, list]] = _cut_examples
    labels: Callable[[list[str] | None, list, str], list[str] | None] = _label_names
    check_labels: Callable[..., None] = check_labels
    check_train: Callable[[list, str], None] = check_varied
    labels_and_scheme: Callable[[Any, Any, dict, dict], tuple[list[str] | None, str]] = _as_in_files
    spans: Callable[[Any, list], SpanSearch | None] = lambda data, train: None
    strata: StrataOf = _by_label


_LABELS = Row()
_NUMBERS = Row(labels=_no_labels, strata=_by_fifth)
KINDS = {
    "classification": _LABELS,
    "multilabel_classification": _LABELS,
    "regression": _NUMBERS,
    "pair_classification": _LABELS,
    "pair_regression": _NUMBERS,
    "tagging": Row(
        held_out=_cut_documents,
        check_train=_check_tags,
        labels_and_scheme=in_task_scheme,
        strata=_by_tags,
    ),
    # Questions about one context stay together.
    "span_extraction": Row(
        held_out=cut_together,
        labels=_no_labels,
        check_train=lambda train, where: None,
        spans=span_search,
        strata=lambda examples: [() for _ in examples],
    ),
    "text_generation": Row(
        held_out=cut_together,
        labels=_no_labels,
        check_labels=lambda examples, *given: None,  # each text is one
        check_train=lambda train, where: None,
        strata=lambda examples: [() for _ in examples],
    ),
    "dialog": Row(
        held_out=_cut_documents,
        labels=_no_labels,
        check_train=lambda train, where: None,
        strata=lambda examples: [() for _ in examples],
    ),
}
