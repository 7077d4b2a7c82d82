"""Kinds of task as data: the form of an example and of its target. Imports no TensorFlow."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tf_adapt.tasks.arguments import checked_labels, checked_temperature, num_labels
from tf_adapt.tasks.by_kind.multilabel_classification import checked_names, checked_thresholds
from tf_adapt.tasks.by_kind.regression import checked_range
from tf_adapt.tasks.by_kind.span_extraction import checked_spans
from tf_adapt.tasks.by_kind.tagging import checked_scheme
from tf_adapt.tasks.by_kind.text_generation import ROUGE
from tf_adapt.tasks.label_counts import of_classes, of_sets
from tf_adapt.tasks.tag_schemes import WORDS

if TYPE_CHECKING:  # it imports this table, and help does not wait for NumPy
    import numpy as np

    from tf_adapt.tasks.task import Task

ONE_TEXT = ("text_a",)
TWO_TEXTS = ("text_a", "text_b")


@dataclass(frozen=True)
class Row:
    """A kind of task.

    Args:
        texts: the names of the texts of an example.
        target: the name of what is predicted; None: the text is its own target.
        metrics: the first is the default: it selects the best epoch.
        arguments: of `Task`, by name: the checked value, or a ConfigError. Others must be None.
        num_outputs: of a head, for an example or for each word.
        metrics_of_schemes: of tags, where they are not `metrics`.
        label_counts: targets, the number of labels → how often each occurs; None: there are none.
        epochs: of a training on a few hundred to a few thousand examples by default: of a frozen
            encoder, for which one costs little, and of one that is trained.
    """

    texts: tuple[str, ...]
    target: str | None
    metrics: tuple[str, ...]
    arguments: Mapping[str, Callable[["Task", str], Any]] = field(default_factory=dict)
    num_outputs: Callable[["Task"], int] = num_labels
    metrics_of_schemes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    label_counts: Callable[["np.ndarray", int], "np.ndarray"] | None = None
    epochs: tuple[int, int] = (30, 6)


def _classification(texts: tuple[str, ...]) -> Row:
    return Row(
        texts,
        "label",
        ("accuracy", "matthews", "macro_f1", "balanced_accuracy"),
        {"labels": checked_labels, "temperature": checked_temperature},
        label_counts=of_classes,
    )


def _regression(texts: tuple[str, ...]) -> Row:
    arguments = {"label_range": checked_range}
    return Row(texts, "label", ("pearson",), arguments, num_outputs=lambda task: 1)


KINDS = {
    "classification": _classification(ONE_TEXT),
    # See `tf_adapt.data.formats.label_sets`.
    "multilabel_classification": Row(
        ONE_TEXT,
        "label",
        ("micro_f1", "macro_f1"),
        {
            "labels": checked_names,
            "thresholds": checked_thresholds,
            "temperature": checked_temperature,
        },
        label_counts=of_sets,
    ),
    "regression": _regression(ONE_TEXT),
    "pair_classification": _classification(TWO_TEXTS),
    "pair_regression": _regression(TWO_TEXTS),
    "tagging": Row(
        ("words",),
        "tags",
        ("span_f1", "strict_span_f1"),
        {"labels": checked_labels, "scheme": checked_scheme},
        metrics_of_schemes={WORDS: ("accuracy",)},
        label_counts=of_classes,
    ),
    # A question and its context: see `tf_adapt.data.formats.records.Answers`.
    "span_extraction": Row(
        TWO_TEXTS,
        "answers",
        ("f1", "exact_match"),
        {"spans": checked_spans},
        num_outputs=lambda task: 2,  # whether a word begins the answer, and whether it ends it
        epochs=(6, 2),  # a text is read in several windows
    ),
    # See `tf_adapt.data.formats.dialogues.Exchange`.
    "dialog": Row(
        ("history",),
        "reply",
        ("log_probability", "perplexity", "hits_at_1_of_4"),
        epochs=(2, 2),
    ),
    # A source, and the target that is written about it.
    "text_generation": Row(
        ONE_TEXT, "label", ("log_probability", "perplexity", *ROUGE), epochs=(6, 3)
    ),
    # See `tf_adapt.models.language_model`.
    "language_model": Row(ONE_TEXT, None, ("perplexity",), epochs=(2, 2)),
}


def labelled_kinds() -> tuple[str, ...]:
    """The kinds whose examples have a target beside their texts."""
    return tuple(kind for kind, row in KINDS.items() if row.target is not None)


def metrics_of(kind: str, scheme: str | None = None) -> tuple[str, ...]:
    """The metrics of a kind of task; of tags that are each of its word alone, the accuracy."""
    return KINDS[kind].metrics_of_schemes.get(scheme, KINDS[kind].metrics)
