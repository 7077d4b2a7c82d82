"""The predictions of a cell's seeds label by label, and their probabilities."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tf_adapt.report.scored_cells import LabelQuality, Reliability, Spread
from tf_adapt.statistics.calibration import BINS
from tf_adapt.statistics.scores import summary

RATIOS = ("precision", "recall", "f1")


def label_qualities(of_seeds: Sequence[dict[str, Any]]) -> dict[str, LabelQuality] | None:
    """The scores of each label, means over seeds; a seed that never says a label has 0.

    Args:
        of_seeds: `label_scores` of each run on the scored split.
    """
    names = sorted({name for labels in of_seeds for name in labels})
    nothing = dict.fromkeys(RATIOS, 0.0)
    return {
        name: LabelQuality(
            **{
                ratio: round(float(np.mean([of.get(name, nothing)[ratio] for of in of_seeds])), 6)
                for ratio in RATIOS
            },
            support=max(of[name]["support"] for of in of_seeds if name in of),
        )
        for name in names
    } or None


def reliability(of_seeds: Sequence[dict[str, Any]]) -> Reliability | None:
    """The calibration error over seeds, and the bins of all seeds together.

    Args:
        of_seeds: the `calibration` of each training, of a fold too.
    """
    if not of_seeds:
        return None
    counts, means, shares = (
        np.concatenate([of[name] for of in of_seeds])
        for name in ("counts", "probabilities", "shares")
    )
    bins = np.clip(np.ceil(means * BINS).astype(int) - 1, 0, BINS - 1)
    totals = np.bincount(bins, counts, BINS)
    filled = totals > 0
    of_seed = summary([of["ece"] for of in of_seeds])
    return Reliability(
        ece=Spread(of_seed.mean, of_seed.deviation),
        counts=totals[filled].astype(int).tolist(),
        probabilities=_means(bins, counts * means, totals)[filled].tolist(),
        shares=_means(bins, counts * shares, totals)[filled].tolist(),
    )


def _means(bins: np.ndarray, sums: np.ndarray, totals: np.ndarray) -> np.ndarray:
    return np.round(np.bincount(bins, sums, BINS) / np.maximum(totals, 1), 6)
