"""The expected best of some trials of a search."""

from collections.abc import Sequence

import numpy as np


def expected_best(scores: Sequence[float]) -> list[float]:
    """E[max of k trials] = Σᵢ v₍ᵢ₎ ((i/n)ᵏ − ((i−1)/n)ᵏ), for k = 1 … n.

    Of n scores, ascending v₍₁₎ … v₍ₙ₎, k are drawn with replacement: the plug-in estimator of what
    a search of k independent trials finds.

    References: Dodge et al. 2019, "Show Your Work", equation 7.
    """
    ascending, count = np.sort(np.asarray(scores, float)), len(scores)
    below = np.arange(count + 1) / count if count else np.zeros(1)
    return [float(ascending @ np.diff(below**k)) for k in range(1, count + 1)]
