"""Equal cells, and seeds that are added until something is decided."""

from itertools import product

from benchmarks.verdict_errors.columns import GOAL, Share
from benchmarks.verdict_errors.draws import TYPICAL, TestSet, alone, scores_of_runs
from benchmarks.verdict_errors.rules import decided_after, decided_before, named

ABOUT = (
    "Two cells of equal expectation; seeds are added up to the numbers in *seeds*, and "
    "the comparison ends with the first look that decides."
)
COLUMNS = {"before": Share(GOAL), "after": Share(GOAL)}
SCHEDULES = [(5, 7, 9, 11, 13), (3, 4, 5, 6, 7), (3, 6, 12, 24, 48)]
ROWS = [
    {"metric": metric, "deviations": deviations, "items": items, "seeds": schedule}
    for metric, deviations, items, schedule in (
        *product(TYPICAL, [(1, 2)], [500], SCHEDULES),
        *product(["accuracy"], [(1, 3)], [500], SCHEDULES),
        *product(["accuracy"], [(1, 3), (0.2, 3)], [5000], SCHEDULES[:2]),
    )
]


def simulated(random, metric, deviations, items, seeds) -> dict[str, bool]:
    """One comparison."""
    cells = TestSet(random, metric, alone(items), 2).runs(
        scores_of_runs(random, metric, max(seeds), deviations)
    )
    looks = [named(cells[:, :count]) for count in seeds]
    return {
        "before": bool(decided_before(metric, looks)),
        "after": bool(decided_after(metric, looks)),
    }
