"""Cells that have learned nothing: are they called above the baseline?"""

import numpy as np

from benchmarks.verdict_errors.columns import GOAL, Mean, Share
from benchmarks.verdict_errors.draws import TestSet, alone
from benchmarks.verdict_errors.rules import named, scores
from tf_adapt.statistics.pairs import above_baseline

ABOUT = (
    "Cells whose expected score is the baseline's, one look, three seeds: the share of comparisons "
    "in which any cell is called above it (one-sided, so 1.5 % is the level of the first look). "
    "*random*: answers that have nothing to do with the labels (of accuracy, two equally frequent "
    "labels). *nearly constant*: the most frequent label (70 %) but for one item in ten, of which "
    "as many are right as wrong. *spread*: as random, but seeds lie around the baseline with a "
    "deviation of *deviation* points, and those that are not above it on dev (as many examples as "
    "test items) are left out, as in a comparison: a cell then has the seeds that happen to be "
    "good; *bias*: how far they are above the baseline in truth, in points. Before, nothing was "
    "compared with the baseline."
)
COLUMNS = {"bias": Mean(), "above after": Share(GOAL)}
SEEDS = 3
ROWS = [
    {"metric": metric, "answers": answers, "deviation": deviation, "items": items, "cells": cells}
    for metric, answers, deviation, items, cells in (
        *((m, "random", 0, i, c) for m in ("accuracy", "matthews", "pearson")
          for i in (100, 500) for c in (4, 8)),
        *(("accuracy", "nearly constant", 0, i, c) for i in (100, 500) for c in (4, 8)),
        *((m, "spread", d, i, 4) for m in ("accuracy", "matthews", "pearson")
          for d in (0, 2) for i in (100, 500)),
    )
]  # fmt: skip


def simulated(random, metric, answers, deviation, items, cells) -> dict[str, bool | float | None]:
    """One comparison."""
    constant = 0.5 if metric == "accuracy" else 0.0
    effects = deviation / 100 * random.standard_normal((cells, SEEDS))
    test = TestSet(random, metric, alone(items), cells)
    baseline, bias = test.constant(), None
    if answers == "nearly constant":
        baseline, runs = nearly_constant(random, items, cells)
    else:
        runs = test.runs(constant + effects)
    kept = list(runs)
    if answers == "spread":
        dev = TestSet(random, metric, alone(items), cells)
        trained = scores(metric, dev.runs(constant + effects)) > scores(metric, dev.constant())
        kept = [rows[mask] for rows, mask in zip(runs, trained, strict=True)]
        bias = 100 * float(effects[trained].mean()) if trained.any() else None
    found = above_baseline(metric, named(kept), baseline)
    return {"bias": bias, "above after": any(test.above for test in found.values())}


def nearly_constant(random, items: int, cells: int) -> tuple[np.ndarray, np.ndarray]:
    """Statistics of accuracy of the baseline `[items, 2]` and of runs that differ on some items."""
    frequent = random.random(items) < 0.7
    # Of what is frequently right fewer items are changed, so that gains and losses are equal.
    chance = np.where(frequent, 0.05 / 0.7, 0.05 / 0.3)
    right = frequent ^ (random.random((cells, SEEDS, items)) < chance)
    return tuple(np.stack([values, np.ones_like(values)], -1) * 1.0 for values in (frequent, right))
