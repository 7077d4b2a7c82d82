"""Learning-rate schedules: pure functions of the step that are also Keras schedules.

`schedule.rate(step)` is the value at a step from 0, computed in float64, as a Python float. The
same object is a Keras `LearningRateSchedule`: `keras.optimizers.AdamW(ta.LinearDecay(…))`.
"""

import math

import keras
import numpy as np
from keras import ops

from tf_adapt.errors import ConfigError

DENOMINATORS = ("ulmfit", "allennlp")


class Schedule(keras.optimizers.schedules.LearningRateSchedule):
    """A schedule with one formula, `_at`, for NumPy values and for tensors."""

    def rate(self, step: int) -> float:
        """The learning rate at a step from 0."""
        return float(self._at(np.float64(step), np))

    def rates(self, steps: np.ndarray) -> np.ndarray:
        """The learning rates at several steps: `[steps] float64` → `[steps] float64`."""
        return self._at(steps, np)

    def __call__(self, step):
        return self._at(ops.cast(step, "float32"), ops)

    def _at(self, step, array):
        """The formula; `array` is `numpy` or `keras.ops`."""
        raise NotImplementedError


@keras.saving.register_keras_serializable("tf_adapt")
class Constant(Schedule):
    """A constant rate after a linear warm-up from 0.

    rate(t) = peak · min(1, t / W).

    Args:
        peak: the rate, above 0.
        warmup_steps: W, at least 0.

    Raises:
        ConfigError: an argument is out of its range.
    """

    def __init__(self, peak: float, warmup_steps: int = 0):
        _check(peak, warmup_steps=warmup_steps)
        self.peak, self.warmup_steps = peak, warmup_steps

    def _at(self, step, array):
        return self.peak * _warmed_up(step, self.warmup_steps, array)

    def get_config(self) -> dict:
        return {"peak": self.peak, "warmup_steps": self.warmup_steps}


class _WarmedUpDecay(Schedule):
    """Linear warm-up to the peak, then `peak · _falling(step)`."""

    def __init__(self, peak: float, total_steps: int, warmup_steps: int = 0):
        _check(peak, total_steps, warmup_steps)
        self.peak, self.total_steps, self.warmup_steps = peak, total_steps, warmup_steps

    def _at(self, step, array):
        rising = step / max(1, self.warmup_steps)
        falling = self._falling(step, array)
        return self.peak * array.where(step < self.warmup_steps, rising, falling)

    def get_config(self) -> dict:
        return {
            "peak": self.peak,
            "total_steps": self.total_steps,
            "warmup_steps": self.warmup_steps,
        }


@keras.saving.register_keras_serializable("tf_adapt")
class LinearDecay(_WarmedUpDecay):
    """Linear warm-up to the peak, then linear decay to 0 at the end of the run.

    rate(t) = peak · t / W for t < W, else peak · max(0, 1 − t / T). The rate jumps at t = W: the
    decay counts from step 0.

    Args:
        peak: the highest rate, above 0.
        total_steps: T, at least 1.
        warmup_steps: W, at least 0.

    Raises:
        ConfigError: an argument is out of its range.

    References: Devlin et al. 2019, google-research/bert `optimization.py`.
    """

    def _falling(self, step, array):
        return array.maximum(0.0, 1.0 - step / self.total_steps)


@keras.saving.register_keras_serializable("tf_adapt")
class CosineDecay(_WarmedUpDecay):
    """Linear warm-up to the peak, then half a cosine down to 0.

    rate(t) = peak · t / W for t < W, else peak · (1 + cos(π (t − W) / (T − W))) / 2.

    Args:
        peak: the highest rate, above 0.
        total_steps: T, at least 1.
        warmup_steps: W, at least 0.

    Raises:
        ConfigError: an argument is out of its range.

    References: Loshchilov and Hutter 2017, "SGDR", equation 5, without restarts.
    """

    def _falling(self, step, array):
        falling_steps = max(1, self.total_steps - self.warmup_steps)
        done = array.minimum(1.0, array.maximum(0.0, (step - self.warmup_steps) / falling_steps))
        return 0.5 * (1.0 + array.cos(math.pi * done))


@keras.saving.register_keras_serializable("tf_adapt")
class SlantedTriangular(Schedule):
    """A short linear rise to the peak, then a long linear fall to peak / ratio.

    cut = max(1, ⌊T · cut_fraction⌋); p = t / cut for t < cut, else 1 − (t − cut) / D;
    rate(t) = peak · (1 + max(0, p) · (ratio − 1)) / ratio.

    `denominator` "ulmfit" is D = cut · (1 / cut_fraction − 1), as printed; if ⌊ ⌋ rounds off much,
    the rate reaches its lowest value before the last step and stays there (the printed formula goes
    below 0). "allennlp" is D = T − cut, which reaches it at T. Both agree if T · cut_fraction is a
    whole number.

    Args:
        peak: the highest rate, above 0.
        total_steps: T, at least 1.
        cut_fraction: fraction of the steps in which the rate rises, above 0 and below 1.
        ratio: peak divided by the lowest rate, at least 1.
        denominator: "ulmfit" or "allennlp".

    Raises:
        ConfigError: an argument is out of its range.

    References: Howard and Ruder 2018, "ULMFiT", equation 3; AllenNLP `slanted_triangular.py`.
    """

    def __init__(
        self,
        peak: float,
        total_steps: int,
        cut_fraction: float = 0.1,
        ratio: float = 32.0,
        denominator: str = "allennlp",
    ):
        _check(peak, total_steps)
        if not 0 < cut_fraction < 1:
            raise ConfigError(
                f"cut_fraction: expected a share above 0 and below 1, got {cut_fraction}"
            )
        if not 1 <= ratio < math.inf:
            raise ConfigError(f"ratio: expected a number of at least 1, got {ratio}")
        if denominator not in DENOMINATORS:
            raise ConfigError(
                f"denominator: expected one of {', '.join(DENOMINATORS)}, got {denominator!r}"
            )
        self.peak, self.total_steps = peak, total_steps
        self.cut_fraction, self.ratio, self.denominator = cut_fraction, ratio, denominator

    def _at(self, step, array):
        cut = max(1, math.floor(self.total_steps * self.cut_fraction))
        fall = self.total_steps - cut
        if self.denominator == "ulmfit":
            fall = cut * (1 / self.cut_fraction - 1)
        # With T = 1 there is nothing to fall: no division by 0.
        falling = array.maximum(0.0, 1.0 - (step - cut) / max(fall, 1e-9))
        height = array.where(step < cut, step / cut, falling)
        return self.peak * (1.0 + height * (self.ratio - 1.0)) / self.ratio

    def get_config(self) -> dict:
        return {
            "peak": self.peak,
            "total_steps": self.total_steps,
            "cut_fraction": self.cut_fraction,
            "ratio": self.ratio,
            "denominator": self.denominator,
        }


def _warmed_up(step, warmup_steps: int, array):
    return array.minimum(1.0, step / warmup_steps) if warmup_steps else array.ones_like(step)


def _check(peak: float, total_steps: int = 1, warmup_steps: int = 0) -> None:
    if not 0 < peak < math.inf:
        raise ConfigError(f"peak: expected a rate above 0, got {peak}")
    if total_steps < 1:
        raise ConfigError(f"total_steps: expected a whole number of at least 1, got {total_steps}")
    if warmup_steps < 0:
        raise ConfigError(
            f"warmup_steps: expected a whole number of at least 0, got {warmup_steps}"
        )
