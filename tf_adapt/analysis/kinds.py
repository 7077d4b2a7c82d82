"""Which analyses there are of each kind of task, and how. Imports no TensorFlow."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tf_adapt.analysis import information
from tf_adapt.analysis.by_kind import classification, tagging

if TYPE_CHECKING:  # it imports TensorFlow
    from tf_adapt.tasks.task import Task


@dataclass(frozen=True)
class Row:
    """The analyses of a kind of task.

    Args:
        analyses: their names.
        metric: of a probe.
        entropy: of the targets, in bits; None of numbers.
        check_vectors: refuses how vectors are asked for: kind, pooling, word pieces.
        vectors: encoder, pooling, word pieces → arguments of `tf_adapt.analysis.states`.
    """

    analyses: tuple[str, ...]
    metric: Callable[["Task"], str] = lambda task: task.metric
    entropy: Callable[[np.ndarray], float | None] = information.entropy
    check_vectors: Callable[[str, str | None, str | None], None] = classification.check
    vectors: Callable[..., dict[str, str]] = classification.vectors


_CLASSIFICATION = Row(("probes", "information", "genres", "estimate"))
_REGRESSION = Row(("probes", "information", "estimate"), entropy=lambda targets: None)
_NONE = Row(())
KINDS = {
    "classification": _CLASSIFICATION,
    "multilabel_classification": _NONE,
    "regression": _REGRESSION,
    "pair_classification": _CLASSIFICATION,
    "pair_regression": _REGRESSION,
    "tagging": Row(
        ("probes", "estimate"),
        metric=lambda task: "accuracy",
        check_vectors=tagging.check,
        vectors=tagging.vectors,
    ),
    "span_extraction": _NONE,
    "dialog": _NONE,
    "text_generation": _NONE,
    "language_model": _NONE,
}
