"""Multilabel classification: the baseline, and how a set of labels is shown."""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from tf_adapt.comparison.by_kind.classification import Question, labels_of_train
from tf_adapt.data.splits.read_splits import Splits
from tf_adapt.printing.words import listed, visible

NO_LABEL = "no label"


def best_set(splits: Splits) -> tuple[str, ...]:
    """The set with the highest micro F1 on train: its k most frequent labels, with the best k."""
    gold = labels_of_train(splits)
    counts = Counter(label for labels in gold for label in labels).most_common()
    if not counts:
        return ()
    numbers = np.array([count for _, count in counts], np.float64)
    # 2 · correct / (gold + predicted) for k = 1, 2, …
    f1 = 2 * numbers.cumsum() / (numbers.sum() + len(gold) * np.arange(1, len(numbers) + 1))
    return tuple(sorted(label for label, _ in counts[: f1.argmax() + 1]))


def set_phrase(answer: list[str]) -> str:
    """The phrase for a constant set of labels."""
    labels = listed([visible(repr(label)) for label in answer]) if answer else NO_LABEL
    return f"answering {labels}, the set that scores best on train, to everything"


def sets(predictions: list) -> list[frozenset[str]]:
    """Predicted sets, whatever their order."""
    return [frozenset(labels) for labels in predictions]


def shown_set(labels: tuple[str, ...]) -> str:
    """A set of labels as text."""
    return ", ".join(labels) or NO_LABEL


def question_of_each_label(
    gold: list, probabilities: np.ndarray, labels: Sequence[str]
) -> list[Question]:
    """Whether each label is in an example's set."""
    return [
        (
            label,
            ("no", "yes"),
            np.array([int(label in of_example) for of_example in gold]),
            np.stack([1 - of_label, of_label], axis=1),
        )
        for label, of_label in zip(labels, probabilities.T, strict=True)
    ]
