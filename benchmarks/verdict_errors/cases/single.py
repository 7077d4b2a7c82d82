"""Equal cells, one look."""

from itertools import product

from benchmarks.verdict_errors.columns import GOAL, Share
from benchmarks.verdict_errors.draws import TYPICAL, TestSet, alone, scores_of_runs
from benchmarks.verdict_errors.rules import decided_after, decided_before, named

ABOUT = (
    "Two cells of equal expectation, one look: at 5 % before, at 3 % after. *deviations*: of the "
    "two cells' expected scores over their seeds, in points. The last rows: a large test set, and "
    "a cell that is nearly the same with every seed beside one that is not."
)
COLUMNS = {"before": Share(GOAL), "after": Share(GOAL)}
ROWS = [
    {"metric": metric, "deviations": deviations, "items": items, "seeds": seeds}
    for metric, deviations, items, seeds in (
        *product(TYPICAL, [(1, 2), (1, 3)], (100, 500), (3, 5, 10)),
        *product(["accuracy"], [(1, 3)], [5000], (3, 5, 10)),
        *product(["accuracy"], [(0.2, 3)], (500, 5000), (3, 5, 10)),
    )
]


def simulated(random, metric, deviations, items, seeds) -> dict[str, bool]:
    """One comparison."""
    cells = TestSet(random, metric, alone(items), 2).runs(
        scores_of_runs(random, metric, seeds, deviations)
    )
    looks = [named(cells)]
    return {
        "before": bool(decided_before(metric, looks)),
        "after": bool(decided_after(metric, looks)),
    }
