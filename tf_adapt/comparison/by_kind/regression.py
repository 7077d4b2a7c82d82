"""Regression: the baseline."""

import numpy as np

from tf_adapt.comparison.by_kind.classification import labels_of_train
from tf_adapt.data.splits.read_splits import Splits
from tf_adapt.printing.words import amount


def mean_of_train(splits: Splits) -> float:
    """The mean of train's targets."""
    return float(np.mean(labels_of_train(splits)))


def mean_phrase(answer: float) -> str:
    """The phrase for a constant number."""
    return f"train's mean, {amount(answer)}, to everything"


def rounded(predictions: list[float]) -> list[float]:
    """Predicted numbers, without the rounding errors of float32."""
    return [round(float(value), 5) for value in predictions]
