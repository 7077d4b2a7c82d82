"""Weights of the best epoch so far, which the end of a phase with patience restores."""

import math

import keras

from tf_adapt.adaptation.slots import drop_partial_sums, slots_of


class BestWeights:
    """Keeps the weights of the best epoch and the optimizer's slots at its end, in memory.

    Attributes:
        epoch: the best epoch, from 0; −1 before the first.
        score: its score, higher is better.
    """

    def __init__(self):
        self.forget_all()

    def forget_all(self) -> None:
        """Resets to no best epoch."""
        self.epoch, self.score, self._values = -1, -math.inf, None

    def is_better(self, score: float) -> bool:
        """Whether a score is better than the best so far."""
        return score > self.score

    def keep(self, epoch: int, score: float, model: keras.Model, comes_back: bool) -> None:
        """Records a better epoch; copies its weights and slots only if `comes_back`."""
        self.epoch, self.score = epoch, score
        self._values = [variable.numpy() for variable in _restored(model)] if comes_back else None

    def restore(self, model: keras.Model) -> None:
        """Restores the best weights and slots, and drops accumulated gradients."""
        if self._values is not None:
            for variable, value in zip(_restored(model), self._values, strict=True):
                variable.assign(value)
            drop_partial_sums(model.optimizer)

    def release(self) -> None:
        """Frees the memory of the copies."""
        self._values = None


def _restored(model: keras.Model) -> list[keras.Variable]:
    return [*model.weights, *slots_of(model.optimizer)]
