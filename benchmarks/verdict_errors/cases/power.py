"""What the correction costs: differences that are there, and are decided."""

from itertools import product

from benchmarks.verdict_errors.columns import Share
from benchmarks.verdict_errors.draws import TestSet, alone, scores_of_runs
from benchmarks.verdict_errors.rules import (
    decided_after,
    decided_before,
    for_first,
    named,
)

ABOUT = (
    "Accuracy; the first of two cells is ahead by *difference* points, both have a deviation of "
    "one point over seeds. Decided at the first look, and at any of five looks with two seeds "
    "more at each, in favour of the cell that is ahead; *wrong*: of five looks, in favour of the "
    "other one."
)
COLUMNS = {
    "first look before": Share(),
    "first look after": Share(),
    "five looks before": Share(),
    "five looks after": Share(),
    "wrong before": Share(),
    "wrong after": Share(),
}
LOOKS = 5
ROWS = [
    {"difference": difference, "items": items, "seeds": seeds}
    for items, seeds, difference in product((500, 2000), (3, 5, 10), (1, 2, 3, 5))
]


def simulated(random, difference, items, seeds) -> dict[str, bool]:
    """One comparison."""
    schedule = [seeds + 2 * look for look in range(LOOKS)]
    expected = scores_of_runs(random, "accuracy", schedule[-1], (1, 1), [difference, 0.0])
    cells = TestSet(random, "accuracy", alone(items), 2).runs(expected)
    looks = [named(cells[:, :count]) for count in schedule]
    found = {}
    for when, decides in (("before", decided_before), ("after", decided_after)):
        pairs = decides("accuracy", looks)
        found[f"first look {when}"] = for_first(decides("accuracy", looks[:1]))
        found[f"five looks {when}"] = for_first(pairs)
        found[f"wrong {when}"] = bool(pairs) and not for_first(pairs)
    return found
