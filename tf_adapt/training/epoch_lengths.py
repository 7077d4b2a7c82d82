"""Numbers of steps and epochs of a run whose last epochs may have another length."""

from dataclasses import dataclass


@dataclass(frozen=True)
class EpochLengths:
    """The number of steps of each epoch.

    Attributes:
        steps: of an epoch.
        last_from: the first epoch of another length, from 0; None: there is none.
        last_steps: steps of that epoch and of all later ones.
    """

    steps: int
    last_from: int | None = None
    last_steps: int | None = None

    def of(self, epoch: int) -> int:
        """Number of steps of an epoch."""
        return self.last_steps if self._is_last(epoch) else self.steps

    def start(self, epoch: int) -> int:
        """Number of steps before an epoch."""
        if not self._is_last(epoch):
            return epoch * self.steps
        return self.last_from * self.steps + (epoch - self.last_from) * self.last_steps

    def epoch_of(self, step: int) -> int:
        """The epoch of a step."""
        if self.last_from is None or step < self.start(self.last_from):
            return step // self.steps
        return self.last_from + (step - self.start(self.last_from)) // self.last_steps

    def _is_last(self, epoch: int) -> bool:
        return self.last_from is not None and epoch >= self.last_from
