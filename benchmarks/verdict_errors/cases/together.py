"""All at once: cells, learning rates, looks, groups and seeds that fail."""

import numpy as np

from benchmarks.verdict_errors.cases.groups import WITHIN, group_ids
from benchmarks.verdict_errors.columns import GOAL, Share
from benchmarks.verdict_errors.draws import TYPICAL, Items, TestSet, alone, scores_of_runs
from benchmarks.verdict_errors.rules import (
    decided_after,
    decided_before,
    grouped,
    named,
    scores,
)

ABOUT = (
    "Four cells of equal expectation where they train (deviations 1, 1, 2 and 3 points), three "
    "learning rates to choose from on dev (500 examples), each run failing with the probability "
    "*failing* (it then scores as the baseline, *gap* points lower), groups of items, looks at 3, "
    "5, 7, 9 and 11 seeds until one decides: the share of comparisons in which any pair is decided."
)
COLUMNS = {"before": Share(GOAL), "after": Share(GOAL)}
DEVIATIONS, RATES, SCHEDULE, DEV_ITEMS = (1, 1, 2, 3), 3, (3, 5, 7, 9, 11), 500
ROWS = [
    {"metric": "accuracy", "ICC": icc, "sizes": sizes, "groups": groups, "failing": 0.1, "gap": gap}
    for icc, sizes, groups, gap in (
        (0.3, "threes", 170, 10),
        (0.3, "threes", 170, 20),
        (0.6, "geometric", 170, 20),
        (0.6, "documents", 30, 20),
        (0.9, "documents", 30, 20),
    )
]


def simulated(random, metric, ICC, sizes, groups, failing, gap) -> dict[str, bool]:  # noqa: N803
    """One comparison."""
    majority, cells = TYPICAL[metric] - gap / 100, len(DEVIATIONS)
    trials = scores_of_runs(random, metric, RATES, DEVIATIONS)
    failed_trials = random.random(trials.shape) < failing
    chosen = _best(random, metric, trials, failed_trials, majority)
    others = scores_of_runs(random, metric, max(SCHEDULE), DEVIATIONS)
    expected = np.concatenate([_of_each(trials, chosen)[:, None], others], axis=1)
    failed = random.random(expected.shape) < failing
    failed[:, 0] = _of_each(failed_trials, chosen)
    ids = group_ids(random, sizes, groups)
    items = Items(ids, within=WITHIN[metric][ICC], majority=majority)
    test = TestSet(random, metric, items, cells)
    runs = test.runs(expected)
    runs[failed] = test.constant()
    before = [named(runs[:, :count]) for count in SCHEDULE]
    # Without the seed that chose.
    scored, trained = grouped(runs, ids)[:, 1:], ~failed[:, 1:]
    after = [
        named(rows[:count][mask[:count]] for rows, mask in zip(scored, trained, strict=True))
        for count in SCHEDULE
    ]
    return {
        "before": bool(decided_before(metric, before)),
        "after": bool(decided_after(metric, after)),
    }


def _best(random, metric, trials, failed, majority) -> np.ndarray:
    """Which rate is the best on dev, `[cells]`."""
    dev = TestSet(random, metric, alone(DEV_ITEMS, majority=majority), len(trials))
    runs = dev.runs(trials)
    runs[failed] = dev.constant()
    return scores(metric, runs).argmax(1)


def _of_each(values: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    return values[np.arange(len(values)), chosen]
