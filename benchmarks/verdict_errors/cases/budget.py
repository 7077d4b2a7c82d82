"""A comparison within minutes: does what is dropped make a winner of what is kept?"""

from itertools import product

import numpy as np

from benchmarks.verdict_errors.columns import Share
from benchmarks.verdict_errors.draws import TestSet, alone, scores_of_runs
from benchmarks.verdict_errors.rules import decided_after, named, scores
from tf_adapt.comparison.budget.halving import OTHERS, finalists, kept, wanted
from tf_adapt.paper import FROZEN, TUNED

ABOUT = (
    "Cells of equal expectation with all epochs and examples, a third of them ❄ and a third 🔥, "
    "with two rates each. The rungs of `compare --minutes` drop cells and rates by one run each, "
    "with less training: there a cell is better or worse than the others by a normal effect "
    "(2 points in the first rung, 1 in the second). Screened on dev (300 examples), or, as with "
    "folds, on a *fifth* of what is scored. The finalists have fresh seeds and one analysis of "
    "500 items. *deviations*: over seeds, of every other cell. *screening scored*: decided, "
    "were the runs of the last rung among the seeds; *after*: as it is done; *for the best "
    "screened*: decided in favour of the finalist that screened best."
)
COLUMNS = {"screening scored": Share(), "after": Share(5.0), "for the best screened": Share(2.5)}
ROWS = [
    {"metric": metric, "cells": cells, "deviations": deviations, "on": on, "seeds": seeds}
    for metric, cells, deviations, on, seeds in (
        *product(["accuracy"], (6, 20), [(1, 1), (1, 3)], ("dev", "fifth"), [3]),
        ("span_f1", 20, (1, 3), "dev", 3),
        ("pearson", 20, (1, 3), "dev", 3),
    )
]
ITEMS, DEV, RATES, MISLED = 500, 300, (0.0, 1.0), (2.0, 1.0)


def simulated(random, metric, cells, deviations, on, seeds) -> dict[str, bool]:
    """One comparison."""
    of_cells = np.resize(deviations, cells)
    test = TestSet(random, metric, alone(ITEMS), cells)
    dev = test if on == "fifth" else TestSet(random, metric, alone(DEV), cells)
    going = dict.fromkeys(range(cells), RATES)
    groups = {number: (FROZEN, TUNED, OTHERS)[number * 3 // cells] for number in going}
    known = []
    for misled in MISLED:
        effects = scores_of_runs(random, metric, len(RATES), of_cells)
        runs = dev.runs(effects + misled * random.standard_normal((cells, 1)) / 100)
        part = random.permutation(ITEMS)[: ITEMS // 5] if on == "fifth" else slice(None)
        found = scores(metric, runs[:, :, part])
        known.append({name: dict(zip(of, found[name], strict=True)) for name, of in going.items()})
        tried, going = going, kept(going, known, groups)
    chosen = finalists(tried, known, groups, wanted(cells))
    names = list(chosen)
    fresh = scores_of_runs(random, metric, seeds, of_cells)
    screened = effects[range(cells), found.argmax(1)]
    again = np.concatenate([screened[:, None], fresh[:, 1:]], axis=1)
    pairs = decided_after(metric, [named(test.runs(fresh)[names])])
    best = names.index(max(names, key=lambda name: known[-1][name][chosen[name]]))
    ahead = {pair.a if pair.difference > 0 else pair.b for pair in pairs}
    return {
        "screening scored": bool(decided_after(metric, [named(test.runs(again)[names])])),
        "after": bool(pairs),
        "for the best screened": f"cell {best}" in ahead,
    }
