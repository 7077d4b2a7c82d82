"""How often each of several tasks is trained: probabilities of the tasks in each epoch."""

from collections.abc import Sequence

import numpy as np

from tf_adapt.errors import ConfigError

# Probabilities are proportional to the task's number of examples to the power of this.
EXPONENTS = {"proportional": 1.0, "square_root": 0.5, "uniform": 0.0}
SAMPLINGS = ("annealed", *EXPONENTS)


def exponent(sampling: str, epoch: int, epochs: int) -> float:
    """The exponent α of an epoch from 0; annealed: `1 − 0.8 · epoch / (epochs − 1)`, from 1 to 0.2.

    A single epoch has α = 1, and epochs after the last have its α.

    Raises:
        ConfigError: there is no sampling of this name.

    References: Stickland and Murray 2019, "BERT and PALs", section 4.1 (there epochs from 1).
    """
    if sampling == "annealed":
        return 1 - 0.8 * min(epoch, epochs - 1) / max(epochs - 1, 1)
    if sampling not in EXPONENTS:
        raise ConfigError(f"sampling: expected one of {', '.join(SAMPLINGS)}, got {sampling!r}")
    return EXPONENTS[sampling]


def probabilities(sizes: Sequence[int], sampling: str, epoch: int, epochs: int) -> np.ndarray:
    """The probability of each task in a step of an epoch: `nᵢ^α / Σⱼ nⱼ^α`.

    Shapes: sizes, numbers of training examples `[tasks]` → `[tasks] float64`.

    Raises:
        ConfigError: as `exponent`.
    """
    powers = np.asarray(sizes, "float64") ** exponent(sampling, epoch, epochs)
    return powers / powers.sum()
