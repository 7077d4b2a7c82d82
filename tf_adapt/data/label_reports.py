"""What a report on data says of its labels, by their form. Imports no TensorFlow, no NumPy."""

from collections import Counter
from collections.abc import Sequence
from statistics import fmean
from typing import Any

from tf_adapt.data.formats import Record, TaggedSentence
from tf_adapt.data.formats.dialogues import Exchange


def label_counts(examples: Sequence[Record | TaggedSentence]) -> dict[str, Any]:
    """The count of each label, or tag."""
    counts = Counter(label for example in examples for label in example.labels)
    return {"labels": dict(sorted(counts.items()))}


def set_counts(examples: Sequence[Record]) -> dict[str, Any]:
    """The count of each label, and of the examples without any."""
    empty = sum(not example.label for example in examples)
    return label_counts(examples) | {"without any label": empty}


def target_range(examples: Sequence[Record]) -> dict[str, Any]:
    """The range and the mean of the targets of a regression."""
    targets = [example.label for example in examples]
    mean = round(fmean(targets), 3)
    return {"labels": {"least": min(targets), "mean": mean, "most": max(targets)}}


def answer_counts(examples: Sequence[Record]) -> dict[str, Any]:
    """The numbers of questions with and without an answer."""
    counts = Counter(
        "with an answer" if example.label.texts else "without an answer" for example in examples
    )
    return {"labels": dict(sorted(counts.items()))}


def target_counts(examples: Sequence[Record]) -> dict[str, Any]:
    """The number of distinct targets that are written."""
    return {"distinct targets": len({example.label for example in examples})}


def dialogue_counts(examples: Sequence[Exchange]) -> dict[str, Any]:
    """The number of dialogues, and of exchanges whose data bring wrong replies."""
    given = sum(bool(example.others) for example in examples)
    return {"dialogues": len({example.document for example in examples})} | (
        {"with candidates": given} if given else {}
    )
