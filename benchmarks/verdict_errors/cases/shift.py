"""Equal cells at home and in other domains, one look."""

from itertools import product

import numpy as np

from benchmarks.verdict_errors.columns import GOAL, Share
from benchmarks.verdict_errors.draws import TYPICAL, TestSet, alone
from benchmarks.verdict_errors.rules import named
from tf_adapt.statistics.pairs import compare_pairs
from tf_adapt.statistics.shift import compare_abroad, compare_gaps

ABOUT = (
    "Two cells that lose ten points by the move to each of *domains* other domains, one look at "
    "3 %, 500 items at home and *items* in each domain. *gain*: what the second is ahead by, at "
    "home and there alike. A seed's effects (deviations 1 and 2 points) are correlated by 0.5 "
    "between home and each domain. *home*, *abroad*: any decision there, where the cells are "
    "equal; *difference*: any difference of differences that is decided, of which none is true; "
    "*any*: one of the three, which have a level each."
)
# Per cent: three families of tests, each with a level of 3 %.
THREE = 9.0
COLUMNS = {
    "home": Share(GOAL),
    "abroad": Share(GOAL),
    "difference": Share(GOAL),
    "any": Share(THREE),
}
DEVIATIONS, LOSS, HOME_ITEMS, SHARED = (1.0, 2.0), 10.0, 500, 0.5
ROWS = [
    {"metric": metric, "domains": domains, "items": items, "seeds": seeds, "gain": gain}
    for metric, domains, items, seeds, gain in (
        *product(["accuracy"], (1, 3), (100, 1000), (3, 5), (0, 3)),
        *product([name for name in TYPICAL if name != "accuracy"], (3,), (1000,), (3, 5), (0,)),
    )
]


def simulated(random, metric, domains, items, seeds, gain) -> dict[str, bool | None]:
    """One comparison."""
    common = random.standard_normal((2, seeds))

    def rows(count: int, loss: float) -> dict:
        own = random.standard_normal((2, seeds))
        effects = np.sqrt(SHARED) * common + np.sqrt(1 - SHARED) * own
        points = np.array(DEVIATIONS)[:, None] * effects + np.array([[0.0], [gain]]) - loss
        return named(TestSet(random, metric, alone(count), 2).runs(TYPICAL[metric] + points / 100))

    home = rows(HOME_ITEMS, 0.0)
    there = {str(number): rows(items, LOSS) for number in range(domains)}
    gaps = _decided(compare_gaps(metric, home, there, 1))
    if gain:
        return {"difference": gaps}
    at_home = any(pair.decided for pair in compare_pairs(metric, home))
    abroad = _decided(compare_abroad(metric, there, 1))
    anything = at_home or abroad or gaps
    return {"home": at_home, "abroad": abroad, "difference": gaps, "any": anything}


def _decided(tests: dict) -> bool:
    return any(pair.decided for pairs in tests.values() for pair in pairs)
