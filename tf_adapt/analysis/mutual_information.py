"""Mutual information of two samples by EDGE: hash both sides, count the pairs of bins. NumPy only.

Three published versions of the estimator differ in constants and results: see `edge`.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tf_adapt.errors import ConfigError, DataError

FEWEST_EXAMPLES = 20
FLOOR, CEILING = 0.001, 10.0  # of each pair of bins, in bits
_SEED = 3334
_QUERIES = 500


@dataclass(frozen=True)
class Version:
    """The constants in which the versions of EDGE differ.

    Attributes:
        shrink: factor of the bin widths, applied in each of the two passes.
        factor: (reduced dimensions, dimensions) → factor of the bin widths.
        widths: relative bin width of each hashing.
        unprojected: with at most this many dimensions on both sides, no projection.
    """

    shrink: float
    factor: Callable[[int, int], float]
    widths: tuple[float, ...]
    unprojected: int = 0


def _three(reduced: int, dimensions: int) -> float:
    return 3.0 * reduced


def _by_logarithm(reduced: int, dimensions: int) -> float:
    return 18.0 * reduced / (1.0 + math.log(dimensions))


_RISING = tuple(np.linspace(1.0, 1.1, 10))
VERSIONS = {
    "4.2.0": Version(1.0, _three, (1.0,) * 5),
    "4.3.1": Version(0.9, _three, _RISING),
    "4.4.1": Version(0.4, _by_logarithm, _RISING, unprojected=6),
}


def edge(first: np.ndarray, second: np.ndarray, version: str = "4.3.1") -> float:
    """Mutual information of two paired samples, in bits, at least 0.001.

    Each side is projected at random to `d' = min(d, ⌊log2(N / 10)⌋)` coordinates and hashed by
    floors of width ε, in several hashings j; with N_ij, N_i, M_j the examples of each pair of bins
    and of each bin,

    `I_j = Σ (N_ij / N) max(min(log2(N_ij N / (N_i M_j)), 10), 0.001)`, and `I` is their median.

    A first estimate I sets the width of the second pass, `ε ← ε 2^(−√(2I) + 0.5 / I)`, whose result
    is returned. Weak dependence gives wide bins: values below about 0.05 bits end at the floor. ε
    is proportional to the mean distance to the k-th neighbour, and k grows with N: do not compare
    estimates from samples of different sizes. A signal in few of many dimensions is missed.

    Shapes: first `[examples, dimensions]` or `[examples]`, second `[examples, other dimensions]` or
    `[examples]`. Classes are ids in one column.

    Args:
        version: "4.3.1", current when the paper was written; "4.2.0"; "4.4.1", which finds
            information in random labels if there are many dimensions.

    Raises:
        ConfigError: there is no such version.
        DataError: fewer than 20 examples, sides of different lengths, or a number is not finite.

    Source: Noshad, Zeng, Hero 2019, "Scalable mutual information estimation using dependence
    graphs". Same random numbers as the published program, without NumPy's global state.
    """
    if version not in VERSIONS:
        raise ConfigError(f"EDGE version: expected one of {', '.join(VERSIONS)}, got {version!r}")
    constants = VERSIONS[version]
    sides = [_matrix(first), _matrix(second)]
    _check(sides)
    projected = _projected(sides, constants)
    # [reduced dimensions] each: initial bin widths.
    widths = [
        _spread(new) * constants.factor(new.shape[1], old.shape[1])
        for new, old in zip(projected, sides, strict=True)
    ]
    shrink = constants.shrink
    rough = _estimate(projected, widths, constants, shrink)
    widening = 2.0 ** (-math.sqrt(2 * rough) + 0.5 / rough)
    return _estimate(projected, widths, constants, shrink * widening * shrink)


def _matrix(values: np.ndarray) -> np.ndarray:
    values = np.asarray(values, "float64")
    return values[:, None] if values.ndim == 1 else values


def _check(sides: list[np.ndarray]) -> None:
    lengths = [len(side) for side in sides]
    if lengths[0] != lengths[1]:
        raise DataError(
            f"mutual information: expected as many examples on either side, got {lengths[0]} and "
            f"{lengths[1]}"
        )
    if lengths[0] < FEWEST_EXAMPLES:
        raise DataError(
            f"mutual information: expected at least {FEWEST_EXAMPLES} examples, got {lengths[0]}; "
            "below that EDGE has no dimension left to project to"
        )
    if not all(np.isfinite(side).all() for side in sides):
        raise DataError("mutual information: expected finite numbers, got infinity or NaN")


def _projected(sides: list[np.ndarray], constants: Version) -> list[np.ndarray]:
    """Each side times `W`, `W_ij ~ N(0, 1 / (s_i √d))`, s_i the deviation of coordinate i.

    Shapes: `[examples, dimensions]` → `[examples, reduced dimensions]` each.
    """
    if all(side.shape[1] <= constants.unprojected for side in sides):
        return sides
    random = np.random.RandomState(_SEED)
    projected = []
    for side in sides:
        examples, dimensions = side.shape
        reduced = min(dimensions, int(math.log2(examples / 10)))
        deviation = side.std(axis=0)
        deviation[deviation < 1e-4] = 1.0
        scale = 1.0 / (deviation * math.sqrt(dimensions))
        projected.append(side @ random.normal(0.0, scale[:, None], (dimensions, reduced)))
    return projected


def _spread(side: np.ndarray) -> np.ndarray:
    """Mean distance from 500 examples to their k-th neighbour, for each coordinate.

    Shapes: `[examples, dimensions]` → `[dimensions]`.
    """
    examples, dimensions = side.shape
    power = 2 / 3 + 0.17 * dimensions / (dimensions + 1)
    neighbour = int(0.43 * examples**power * math.exp(-1 / max(1e4, dimensions**4)))
    spread = []
    for column in side.T:
        queries = np.random.RandomState(_SEED).choice(column, _QUERIES)
        # An example counts as its own first neighbour.
        distances = [
            np.partition(np.abs(column - query), neighbour - 1)[neighbour - 1] for query in queries
        ]
        spread.append(np.mean(distances) + 1e-4)
    return np.array(spread)


def _estimate(
    sides: list[np.ndarray], widths: list[np.ndarray], constants: Version, scale: float
) -> float:
    estimates = []
    for number, relative in enumerate(constants.widths):
        shift = number / len(constants.widths)
        bins = [
            _bins(side, width * scale * relative, shift)
            for side, width in zip(sides, widths, strict=True)
        ]
        estimates.append(_information(*bins))
    return float(np.median(estimates))


def _bins(side: np.ndarray, width: np.ndarray, shift: float) -> np.ndarray:
    """The index of each example's bin, `floor((x + shift ε) / ε)`: `[examples] int`."""
    hashed = np.floor((side + shift * width) / width)
    return np.unique(hashed, axis=0, return_inverse=True)[1].reshape(-1)


def _information(first: np.ndarray, second: np.ndarray) -> float:
    sizes = [np.bincount(side) for side in (first, second)]
    pairs, counts = np.unique(first * len(sizes[1]) + second, return_counts=True)
    independent = sizes[0][pairs // len(sizes[1])] * sizes[1][pairs % len(sizes[1])]
    bits = np.log2(counts * len(first) / independent)
    return float(np.sum(counts / len(first) * np.clip(bits, FLOOR, CEILING)))
