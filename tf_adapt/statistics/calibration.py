"""How far the probabilities of predictions are from the shares in which they come true."""

from collections.abc import Sequence
from typing import Any

import numpy as np

BINS = 15


def calibration(probabilities: Sequence[float], outcomes: Sequence[bool]) -> dict[str, Any]:
    """The expected calibration error and its bins, of equal width; empty ones are left out.

    `ece = Σ nᵦ/n · |share of true outcomesᵦ − mean probabilityᵦ|`.

    Shapes: probabilities, outcomes `[predictions]`, at least one.

    Returns:
        `ece`, and lists with a value for each bin: `counts`, `probabilities` (means), `shares`.

    Source: Guo et al. 2017, "On calibration of modern neural networks", equations 3 and 4.
    """
    values, true = np.asarray(probabilities, np.float64), np.asarray(outcomes, np.float64)
    # Bins are open on the left, (0, 1/15], …
    bins = np.clip(np.ceil(values * BINS).astype(int) - 1, 0, BINS - 1)
    counts = np.bincount(bins, minlength=BINS)
    filled = counts > 0
    mean = np.bincount(bins, values, BINS)[filled] / counts[filled]
    share = np.bincount(bins, true, BINS)[filled] / counts[filled]
    gaps = np.abs(share - mean)
    return {
        "ece": float((counts[filled] * gaps).sum() / len(values)),
        "counts": counts[filled].tolist(),
        "probabilities": [round(float(value), 6) for value in mean],
        "shares": [round(float(value), 6) for value in share],
    }
