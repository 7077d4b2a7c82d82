"""The probabilities of a prediction, each with whether it came true; and how well they fit."""

from collections.abc import Sequence
from typing import Any

from tf_adapt.serving.prediction.prediction import Prediction


def of_label(labels: Sequence[str], prediction: Prediction, gold: str) -> list[tuple[float, bool]]:
    """The probability of the predicted label."""
    return [(max(prediction.scores), prediction.label == gold)]


def of_set(
    labels: Sequence[str], prediction: Prediction, gold: Sequence[str]
) -> list[tuple[float, bool]]:
    """The probability of each label."""
    pairs = zip(labels, prediction.scores, strict=True)
    return [(probability, label in gold) for label, probability in pairs]


def of_tags(
    labels: Sequence[str], prediction: Prediction, gold: Sequence[str]
) -> list[tuple[float, bool]]:
    """The probability of the tag of each word."""
    parts = zip(prediction.scores, prediction.label, gold, strict=True)
    return [(probability, tag == true) for probability, tag, true in parts]


def none(labels: Any, prediction: Prediction, gold: Any) -> list[tuple[float, bool]]:
    """None: no probability of a label."""
    return []
