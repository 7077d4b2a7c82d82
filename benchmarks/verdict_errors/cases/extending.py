"""Cells that are trained further: does the choice to do so make a winner?"""

from itertools import product

import numpy as np

from benchmarks.verdict_errors.columns import GOAL, Share
from benchmarks.verdict_errors.draws import TYPICAL, TestSet, alone, scores_of_runs
from benchmarks.verdict_errors.rules import decided_after, named, scores
from tf_adapt.comparison.verdict.training_ended import rises
from tf_adapt.statistics.metrics import METRICS

ABOUT = (
    "Two cells of equal expectation with twice the epochs; with those of the config the first is "
    "*behind* by so many points, and an epoch earlier by one and a half times as many. A cell is "
    "trained further where most curves on dev still rise (`compare.extend`): those of three "
    "trials, whose seeds are not scored, or of the scored seeds themselves. The effect of a seed "
    "is the same on dev and on test, and half of its variance stays when it is trained further. "
    "One analysis of 500 test items. *extended*: the first cell was; *before*: decided, were "
    "nothing extended; *after*: decided; *after, one behind*: the same where a cell that needs "
    "more epochs may not have been seen to need them."
)
COLUMNS = {
    "extended": Share(),
    "before": Share(),
    "after": Share(GOAL),
    "after, one behind": Share(),
}
ROWS = [
    {"by": by, "behind": behind, "deviations": deviations, "dev": dev, "seeds": 5}
    for by, behind, deviations, dev in product(
        ("trials", "seeds"), (0, 5), ((1, 2), (3, 1)), (50, 500)
    )
]
METRIC, ITEMS, TRIALS = "accuracy", 500, 3


def simulated(random, by, behind, deviations, dev, seeds) -> dict[str, bool | None]:
    """One comparison."""
    configured = scores_of_runs(random, METRIC, seeds, deviations)
    judged = configured
    if by == "trials":
        judged = scores_of_runs(random, METRIC, TRIALS, deviations)
    is_extended = still_rising(random, judged, behind, deviations, dev)
    fresh = scores_of_runs(random, METRIC, seeds, deviations)
    longer = TYPICAL[METRIC] + (configured + fresh - 2 * TYPICAL[METRIC]) / np.sqrt(2)
    configured = configured - gap(behind)
    test = TestSet(random, METRIC, alone(ITEMS), 2)
    final = np.where(is_extended[:, None], longer, configured)
    decided = bool(decided_after(METRIC, [named(test.runs(final))]))
    return {
        "extended": bool(is_extended[0]),
        "before": bool(decided_after(METRIC, [named(test.runs(configured))])),
        "after": None if behind else decided,
        "after, one behind": decided if behind else None,
    }


def still_rising(random, last: np.ndarray, behind: float, deviations, dev: int) -> np.ndarray:
    """Whether most curves of each cell rise on dev from the last but one epoch to the last.

    Shapes: last `[cells, runs]` → `[cells] bool`.
    """
    earlier = scores_of_runs(random, METRIC, last.shape[1], deviations)
    earlier = TYPICAL[METRIC] + (last + earlier - 2 * TYPICAL[METRIC]) / np.sqrt(2)
    items = TestSet(random, METRIC, alone(dev), len(last))
    curves = np.stack(
        [
            scores(METRIC, items.runs(expected - factor * gap(behind)))
            for expected, factor in ((earlier, 1.5), (last, 1.0))
        ],
        axis=-1,
    )
    return np.array([rises(of_cell, METRICS[METRIC].point) for of_cell in curves.tolist()])


def gap(behind: float) -> np.ndarray:
    """Shape: `[cells, 1]`."""
    return np.array([[behind / 100], [0.0]])
