"""Learning rates to choose from: is the seed that chose scored as well?"""

from itertools import product

import numpy as np

from benchmarks.verdict_errors.columns import GOAL, Mean, Share
from benchmarks.verdict_errors.draws import TestSet, alone, scores_of_runs
from benchmarks.verdict_errors.rules import (
    decided_after,
    decided_before,
    for_first,
    named,
    scores,
)

ABOUT = (
    "Two cells of equal expectation at each of their learning rates; the rate with the best score "
    "on dev (500 examples) of one seed is chosen, one look at 500 test items. A seed's effect is "
    "the same on dev and on test. Before, the run that was chosen is one of those that are scored; "
    "after, the seed that chooses is not scored. *bias*: of the first cell's mean over the second "
    "one's, in points; *for the first*: decided in favour of it. The first is the less stable."
)
COLUMNS = {
    "bias before": Mean(),
    "for the first before": Share(),
    "before": Share(GOAL),
    "bias after": Mean(),
    "for the first after": Share(),
    "after": Share(GOAL),
}
ROWS = [
    {"metric": "accuracy", "deviations": deviations, "rates": rates, "seeds": seeds}
    for deviations, rates, seeds in product([(3, 1), (2, 2)], (2, 5), (3, 5))
] + [
    {"metric": metric, "deviations": (3, 1), "rates": 5, "seeds": seeds}
    for metric, seeds in product(("matthews", "pearson", "span_f1"), (3, 5))
]
ITEMS = 500


def simulated(random, metric, deviations, rates, seeds) -> dict[str, bool | float]:
    """One comparison."""
    trials = scores_of_runs(random, metric, rates, deviations)
    chosen = best_on_dev(random, metric, trials, ITEMS)
    others = scores_of_runs(random, metric, seeds, deviations)
    test = TestSet(random, metric, alone(ITEMS), 2)
    runs = test.runs(np.concatenate([chosen[:, None], others], axis=1))
    found = {}
    # Before, the choosing run is the first of S; after, there are S others.
    for when, part, decides in (
        ("before", runs[:, :seeds], decided_before),
        ("after", runs[:, 1:], decided_after),
    ):
        pairs = decides(metric, [named(part)])
        means = 100 * scores(metric, part).mean(1)
        found[f"bias {when}"] = means[0] - means[1]
        found[f"for the first {when}"] = for_first(pairs)
        found[when] = bool(pairs)
    return found


def best_on_dev(random, metric: str, trials: np.ndarray, items: int) -> np.ndarray:
    """The expected score of each cell's run that is the best on a dev set.

    Shapes: trials `[cells, rates]` → `[cells]`.
    """
    dev = TestSet(random, metric, alone(items), len(trials))
    best = scores(metric, dev.runs(trials)).argmax(1)
    return trials[np.arange(len(trials)), best]
