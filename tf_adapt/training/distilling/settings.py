"""The settings of a module's distillation, checked."""

import math
from dataclasses import dataclass

from tf_adapt.adaptation.schedules import CosineDecay, LinearDecay, Schedule
from tf_adapt.errors import ConfigError

DECAYS = {"linear": LinearDecay, "cosine": CosineDecay}
PRECISIONS = (None, "bfloat16")
STORED = ("float32", "float16")
# A schedule counts whole units: steps, or milliseconds of a time budget.
MILLISECONDS = 60_000


@dataclass(frozen=True)
class DistillationSettings:
    """What a distillation computes, but for teacher and text.

    Args:
        keep_layers: numbers of the teacher's layers that the student begins with, from 0.
        vocabulary: number of word pieces of the student; None: all of the teacher's.
        steps: number of updates; or None.
        minutes: time for training and held-out evaluations, over all resumed parts; or None.
        batch_size: rows of the whole length in a batch, at least 2; with rows of a half or a
            quarter of the length there are as many more.
        length: longest row in pieces, special ones included, at least 32.
        learning_rate: the highest; DistilBERT's 5e-4.
        warmup: share of the training in which the rate rises; DistilBERT's 0.05.
        decay: "linear" or "cosine", to 0 at the end.
        seed: of the order of the text.
        precision: "bfloat16" (float32 weights) or None.
        stored_as: "float32" or "float16", of the module.

    Raises:
        ConfigError: a value is out of its range, or not exactly one of `steps` and `minutes` is
            given.
    """

    keep_layers: tuple[int, ...]
    vocabulary: int | None = None
    steps: int | None = None
    minutes: float | None = None
    batch_size: int = 16
    length: int = 128
    learning_rate: float = 5e-4
    warmup: float = 0.05
    decay: str = "linear"
    seed: int = 0
    precision: str | None = None
    stored_as: str = "float32"

    def __post_init__(self):
        if (self.steps is None) == (self.minutes is None):
            raise ConfigError(
                f"expected one of steps (--steps) and minutes (--minutes), got {self.steps} and "
                f"{self.minutes}; say how long to train, in one way"
            )
        whole = {"vocabulary": (1, self.vocabulary), "steps": (1, self.steps)}
        whole |= {"batch_size": (2, self.batch_size), "length": (32, self.length)}
        whole |= {"seed": (0, self.seed)}
        for name, (least, value) in whole.items():
            if value is not None and (type(value) is not int or value < least):
                raise ConfigError(f"{name}: expected a whole number from {least}, got {value!r}")
        for name, value in (("minutes", self.minutes), ("learning_rate", self.learning_rate)):
            if value is not None and not (math.isfinite(value) and value > 0):
                raise ConfigError(f"{name}: expected a number above 0, got {value!r}")
        if not 0 <= self.warmup < 1:
            raise ConfigError(f"warmup: expected a share from 0 to below 1, got {self.warmup!r}")
        allowed = {"decay": tuple(DECAYS), "precision": PRECISIONS, "stored_as": STORED}
        for name, values in allowed.items():
            if getattr(self, name) not in values:
                shown = " or ".join(map(str, values))
                raise ConfigError(f"{name}: expected {shown}, got {getattr(self, name)!r}")

    def rate(self, steps: int, seconds: float) -> float:
        """The learning rate of the next step, after so many steps and seconds."""
        return self._schedule.rate(steps if self.minutes is None else seconds * 1000)

    def share_done(self, steps: int, seconds: float) -> float:
        """The share of the training that is done, 1 at its end."""
        if self.minutes is None:
            return min(1.0, steps / self.steps)
        return min(1.0, seconds / (60 * self.minutes))

    @property
    def _schedule(self) -> Schedule:
        units = self.steps or max(1, round(self.minutes * MILLISECONDS))
        return DECAYS[self.decay](self.learning_rate, units, round(self.warmup * units))
