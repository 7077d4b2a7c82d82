"""Regression: the baseline."""

import numpy as np

from tf_adapt.printing.words import amount


def mean_of_train(gold: list[float], scheme: str | None) -> float:
    """The mean of train's targets."""
    return float(np.mean(gold))


def mean_phrase(answer: float) -> str:
    """The phrase for a constant number."""
    return f"train's mean, {amount(answer)}, to everything"
