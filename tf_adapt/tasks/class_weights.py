"""Weights of labels in the loss, for labels that are rare. Imports no TensorFlow."""

from collections.abc import Iterable, Mapping

import numpy as np

from tf_adapt.errors import ConfigError
from tf_adapt.tasks.kinds import KINDS
from tf_adapt.tasks.task import Task

BALANCED = "balanced"
Given = str | Mapping[str | int, float]


def class_weights(task: Task, given: Given, targets: Iterable[np.ndarray] = ()) -> np.ndarray:
    """The factor of the loss of an example, or word, with each label.

    `balanced`: `n / (K·nₖ)`, with nₖ of the n examples, or words, with label k, and K labels that
    occur; those that do not have 1. Of sets of labels each label is a choice of its own, with
    `n / 2nₖ` for the examples with it and `n / 2(n − nₖ)` for those without. Else the given
    factors: 1 for a label that is not named, and for examples without it.

    Shapes: each of targets: class ids (−1 is padding) of any shape → `[labels] float32`; of sets
    `[examples, labels]` 0 or 1 → `[labels, 2]`, without and with the label.

    Args:
        given: "balanced", or factors by label or id.
        targets: batches, in which labels are counted for "balanced".

    Raises:
        ConfigError: the kind of task has no labels; an unknown label; a factor that is no number of
            at least 0.

    Source: King and Zeng 2001, as scikit-learn's `compute_class_weight`.
    """
    counts_of = KINDS[task.kind].label_counts
    if counts_of is None:
        raise ConfigError(f"class_weight: expected none for {task.kind}, which has no labels")
    labels = len(task.labels)
    # [labels], or [labels, 2]
    counts = counts_of(np.zeros([0, labels]), labels)
    if isinstance(given, str):
        if given != BALANCED:
            raise ConfigError(f"class_weight: expected balanced or factors by label, got {given!r}")
        counts = sum((counts_of(batch, labels) for batch in targets), start=counts)
        totals = counts.sum(axis=-1, keepdims=True)
        occurring = (counts > 0).sum(axis=-1, keepdims=True)
        weights = totals / np.maximum(occurring * counts, 1)
        return np.where(counts > 0, weights, 1.0).astype("float32")
    factors = _factors(task, given)
    if counts.ndim == 2:
        factors = np.stack([np.ones_like(factors), factors], axis=1)
    return factors


def _factors(task: Task, given: Mapping[str | int, float]) -> np.ndarray:
    factors = np.ones(len(task.labels), "float32")
    for label, factor in given.items():
        is_id = not isinstance(label, str) and 0 <= label < len(task.labels)
        name = task.labels[label] if is_id else label
        if name not in task.labels:
            raise ConfigError(
                f"class_weight.{label}: expected one of the labels "
                f"{', '.join(task.labels[:20])}, got {label!r}"
            )
        if isinstance(factor, bool) or not isinstance(factor, (int, float)) or not factor >= 0:
            raise ConfigError(
                f"class_weight.{label}: expected a number of at least 0, got {factor!r}"
            )
        factors[task.labels.index(name)] = factor
    return factors
