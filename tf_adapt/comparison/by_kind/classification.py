"""Classification, of a text or of a pair: the baseline, confusion matrices, heads to compare."""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from hub_modules.families import has_words, joins_pairs
from tf_adapt.comparison.plan.sections import EncoderEntry
from tf_adapt.data.gold_answers import gold_answers
from tf_adapt.data.splits.read_splits import Splits
from tf_adapt.printing.words import visible

# For a part of each answer: its name, what may be true, what is said to be, the probabilities.
Question = tuple[str, Sequence[str], np.ndarray, np.ndarray]


def labels_of_train(splits: Splits) -> list:
    """The gold label of each example of train, in the form of the predictions."""
    return gold_answers(splits.examples["train"], splits.kind)


def most_frequent_label(splits: Splits) -> str:
    """The most frequent label of train."""
    return Counter(labels_of_train(splits)).most_common(1)[0][0]


def label_phrase(answer: str) -> str:
    """The phrase for a constant label."""
    return f"answering {visible(repr(answer))}, train's most frequent label, to everything"


def confusion_matrix(
    predictions: Sequence[list[str]], gold: list[str], labels: Sequence[str]
) -> list[list[int]]:
    """The confusion matrix, summed over several predictions: `[true labels][predicted labels]`."""
    counts = Counter(
        pair for predicted in predictions for pair in zip(gold, predicted, strict=True)
    )
    return [[counts[true, other] for other in labels] for true in labels]


def one_question(
    gold: list[str], probabilities: np.ndarray, labels: Sequence[str]
) -> list[Question]:
    """Which label is each example's."""
    given = np.array([labels.index(label) for label in gold])
    return [("", labels, given, probabilities)]


def linear_head(encoder: EncoderEntry, family: str | None) -> list[str]:
    """The head that a frozen encoder has beside the default one; a sentence module has none."""
    return [] if not has_words(family) else ["linear"]


def linear_head_of_pairs(encoder: EncoderEntry, family: str | None) -> list[str]:
    """As `linear_head`; BERT has none on pairs that it reads apart."""
    reads_one = family is None or joins_pairs(family)
    reads_apart = encoder.pairs == "separate" or encoder.long is not None
    return [] if reads_apart and reads_one else linear_head(encoder, family)


def column_lines(columns: list[str], unused: list[str]) -> list[str]:
    """Lines of a first config on the columns of a table."""
    return ["  # guessed", "  columns:", *columns, *unused]
