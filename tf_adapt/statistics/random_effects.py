"""Differences of several studies pooled by a random-effects model, and in how many of them there is
one. Imports no TensorFlow; statsmodels only where it is called."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtr, stdtrit

from tf_adapt.errors import ConfigError

INSTALL = "pip install 'tf_adapt[pool]'"


@dataclass(frozen=True)
class Pooled:
    """A pooled difference.

    Attributes:
        estimate: the mean of what studies like these find.
        interval: its confidence interval, of Hartung and Knapp.
        tau: the standard deviation of the true differences between studies.
        prediction: where the true difference of one more study is expected; None with fewer than
            three studies.
        p: two-sided, of no difference on average.
    """

    estimate: float
    interval: tuple[float, float]
    tau: float
    prediction: tuple[float, float] | None
    p: float


def random_effects(
    differences: Sequence[float], errors: Sequence[float], level: float = 0.95
) -> Pooled:
    """A random-effects estimate of several studies' differences.

    `θ̂ = Σ w d / Σ w` with `w = 1 / (s² + τ²)`, τ² by Paule and Mandel; its variance by Hartung and
    Knapp, `Σ w (d − θ̂)² / ((k − 1) Σ w)`, but at least `1 / Σ w`: else a few studies that agree by
    chance would be certain. With it t of k − 1 degrees of freedom. One more study is expected in
    `θ̂ ± t_{k−2} √(τ² + variance)`.

    Args:
        errors: standard errors, above 0.

    Raises:
        ConfigError: statsmodels is not installed.
        ValueError: fewer than two studies.

    Source: Hartung and Knapp 2001; Knapp and Hartung 2003 (the bound); Higgins, Thompson,
    Spiegelhalter 2009, section 4.
    """
    if len(differences) < 2:
        raise ValueError(f"expected at least two studies, got {len(differences)}")
    try:
        from statsmodels.stats.meta_analysis import combine_effects
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"pooling needs the package {error.name}; install the extra: {INSTALL}"
        ) from None
    effects, variances = np.asarray(differences, float), np.square(np.asarray(errors, float))
    found = combine_effects(effects, variances, method_re="iterated", use_t=True)
    estimate, tau2 = float(found.mean_effect_re), max(float(found.tau2), 0.0)
    variance, count = max(float(found.var_hksj_re), float(found.var_eff_w_re)), len(effects)
    error = np.sqrt(variance)
    spread = stdtrit(count - 1, (1 + level) / 2) * error
    prediction = None
    if count >= 3:
        half = stdtrit(count - 2, (1 + level) / 2) * np.sqrt(tau2 + variance)
        prediction = (float(estimate - half), float(estimate + half))
    return Pooled(
        estimate,
        (float(estimate - spread), float(estimate + spread)),
        float(np.sqrt(tau2)),
        prediction,
        float(2 * stdtr(count - 1, -abs(estimate) / error)),
    )


def found_in_at_least(p_values: Sequence[float], level: float = 0.05) -> int:
    """The number of studies in which there is an effect, at least, with probability 1 − level.

    The largest u whose partial conjunction is rejected, `(k − u + 1) p_(u) ≤ level` with the
    p-values in ascending order, of which all smaller ones are too.

    Args:
        p_values: one-sided, one a study; they may depend on each other.

    Source: Benjamini and Heller 2008, section 2 (Bonferroni's form).
    """
    ordered = sorted(p_values)
    count = 0
    for number, p in enumerate(ordered, start=1):
        if (len(ordered) - number + 1) * p > level:
            break
        count = number
    return count
