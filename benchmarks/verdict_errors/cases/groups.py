"""Equal cells, and items that belong together."""

from itertools import product

import numpy as np

from benchmarks.verdict_errors.columns import GOAL, Mean, Share
from benchmarks.verdict_errors.draws import Items, TestSet, scores_of_runs
from benchmarks.verdict_errors.rules import decided_after, decided_before, grouped, named

ABOUT = (
    "Two cells of equal expectation, three seeds (deviations 1 and 2 points), one look. Items that "
    "belong together are hard or easy together: *ICC* is the intraclass correlation of the paired "
    "differences, means over the seeds, in groups of three. Sizes of the groups: three each; "
    "geometric with mean 3; documents of 5 to 30; one group with a third of all items and threes. "
    "Before, each example is an item of the test; after, each group. *effective*: "
    "`(Σ n)² / Σ n²` of the groups' sizes n."
)
COLUMNS = {"effective": Mean(), "before": Share(GOAL), "after": Share(GOAL)}
SIZES = ("threes", "geometric", "documents", "one third in one")
# Which share of the effects' variances is the groups', for each ICC (three seeds, groups of three).
WITHIN = {
    "accuracy": {0.3: 0.65, 0.6: 0.90, 0.9: 0.993},
    "matthews": {0.3: 0.69, 0.6: 0.955},
    "pearson": {0.3: 0.57, 0.6: 0.79, 0.9: 0.965},
    "span_f1": {0.3: 0.835, 0.5: 0.99},
}
ROWS = [
    {"metric": "accuracy", "ICC": icc, "sizes": sizes, "groups": count}
    for icc, sizes, count in product((0.3, 0.9), SIZES, (20, 30, 50, 170))
] + [
    {"metric": metric, "ICC": max(WITHIN[metric]), "sizes": sizes, "groups": count}
    for metric, sizes, count in product(
        ("matthews", "pearson", "span_f1"), ("threes", "documents", "one third in one"), (20, 50)
    )
]


def simulated(random, metric, ICC, sizes, groups) -> dict[str, bool | float]:  # noqa: N803
    """One comparison."""
    ids = group_ids(random, sizes, groups)
    test = TestSet(random, metric, Items(ids, within=WITHIN[metric][ICC]), 2)
    cells = test.runs(scores_of_runs(random, metric, 3, (1, 2)))
    before = decided_before(metric, [named(cells)])
    after = decided_after(metric, [named(grouped(cells, ids))])
    counts = np.bincount(ids)
    return {
        "effective": len(ids) ** 2 / (counts**2).sum(),
        "before": bool(before),
        "after": bool(after),
    }


def group_ids(random, sizes: str, groups: int) -> np.ndarray:
    """Which group each item is of, `[items]`."""
    if sizes == "geometric":
        counts = random.geometric(1 / 3, groups)
    elif sizes == "documents":
        counts = random.integers(5, 31, groups)
    else:
        counts = np.full(groups, 3)
        if sizes == "one third in one":
            counts[0] = counts[1:].sum() // 2
    return np.repeat(np.arange(groups), counts)
