"""A cell whose seeds fail now and then."""

from itertools import product

import numpy as np

from benchmarks.verdict_errors.columns import GOAL, Mean, Share
from benchmarks.verdict_errors.draws import TYPICAL, TestSet, alone, scores_of_runs
from benchmarks.verdict_errors.rules import (
    decided_after,
    decided_before,
    for_first,
    named,
    scores,
)
from tf_adapt.statistics.relation import FEWEST_SEEDS

ABOUT = (
    "Accuracy, one look. Seeds of the first cell fail with the probability *failing* and give the "
    "baseline's answer to everything. Before, they count with the baseline's score; after, the "
    "seeds that trained are compared, at least three of each cell, and a cell of which seeds "
    "failed is ahead only where it is with the baseline's answers for them too. *gap*: from the "
    "baseline to a run that trains, in points. *equal*: which runs of the two cells have the same "
    "expected score: *trained*, those that train, or *all* of them, so that the first cell is "
    "ahead where it trains. *near*: all, nothing collapses, but both cells are *gap* points above "
    "the baseline. *for the first*: decided in favour of it, as in the two columns on what was "
    "seen to fail (of all comparisons): a cell of which no seed happened to fail looks better than "
    "it is; *bias*: of the first cell's mean over "
    "what it is set to, in points, where both have a seed; *untested*: a cell has fewer than three "
    "seeds that trained."
)
COLUMNS = {
    "before": Share(GOAL),
    "for the first before": Share(),
    "bias after": Mean(),
    "after": Share(GOAL),
    "after, some seen to fail": Share(GOAL),
    "after, none seen to fail": Share(),
    "untested after": Share(),
}
ROWS = [
    {
        "equal": equal,
        "deviations": deviations,
        "items": items,
        "failing": failing,
        "gap": gap,
        "seeds": seeds,
    }
    for equal, deviations, items, failing, gap, seeds in (
        *product(["trained"], [(1, 1), (2, 1)], [500], (0.1, 0.2), (10, 20), (3, 5, 10)),
        *product(["trained"], [(3, 1)], (500, 5000), [0.5], [20], (5, 11)),
        *product(["all"], [(1, 1)], [500], (0.1, 0.2), (10, 20), (3, 5, 10)),
        *product(["near"], [(3, 1)], [500], [0.0], (1, 3), (3, 5, 20)),
    )
]


def simulated(
    random, equal, deviations, items, failing, gap, seeds
) -> dict[str, bool | float | None]:
    """One comparison."""
    lead = failing * gap / (1 - failing) if equal == "all" else 0.0
    expected = scores_of_runs(random, "accuracy", seeds, deviations, [lead, 0.0])
    majority = TYPICAL["accuracy"] - gap / 100
    test = TestSet(random, "accuracy", alone(items, majority=majority), 2)
    cells = test.runs(expected)
    trained = random.random((2, seeds)) >= np.array([[failing], [0.0]])
    cells[~trained] = test.constant()
    before = decided_before("accuracy", [named(cells)])
    kept = [rows[mask] for rows, mask in zip(cells, trained, strict=True)]
    after = decided_after("accuracy", [named(kept)])
    if for_first(after) and not trained[0].all():
        after = after if for_first(decided_after("accuracy", [named(cells)])) else []
    means = [100 * scores("accuracy", rows).mean() if len(rows) else None for rows in kept]
    # *all*: where runs train the first cell is ahead, so that only what is said for it is false.
    of_all, seen = equal == "all", not trained[0].all()
    return {
        "before": bool(before),
        "for the first before": for_first(before),
        "bias after": None if None in means else means[0] - means[1] - lead,
        "after": None if of_all else bool(after),
        "after, some seen to fail": for_first(after) and seen if of_all else None,
        "after, none seen to fail": for_first(after) and not seen if of_all else None,
        "untested after": bool(trained.sum(1).min() < FEWEST_SEEDS),
    }
