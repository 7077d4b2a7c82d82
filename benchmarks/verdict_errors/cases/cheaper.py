"""A cheaper cell that is open, but close."""

from itertools import product

from benchmarks.verdict_errors.columns import Mean, Share
from benchmarks.verdict_errors.draws import TestSet, alone, scores_of_runs
from benchmarks.verdict_errors.rules import named
from tf_adapt.comparison.verdict.ranking import is_close
from tf_adapt.statistics.pairs import compare_pairs
from tf_adapt.statistics.relation import WORTH

ABOUT = (
    "Accuracy; two cells, of which the cheaper one is truly *behind* by so many points; cells that "
    "disagree on one item in nine, or on few (*effects* 0.2). Where it has the lower mean and the "
    "pair is open, it is recommended if it is less than a point behind, with an interval within "
    f"{100 * WORTH:.0f}: *close*, and *falsely close* where it is truly as far behind as that. "
    "*alike*: shown to be within a point; *ahead*: it has the higher mean. *lost*: the points that "
    "the recommendation loses, in the mean of all comparisons; *lost by the best mean*: if the "
    "cell with the higher mean were recommended, unless they are alike."
)
COLUMNS = {
    "close": Share(),
    "falsely close": Share(2.5),
    "alike": Share(),
    "ahead": Share(),
    "lost": Mean(),
    "lost by the best mean": Mean(),
}
ROWS = [
    {"behind": behind, "effects": effects, "deviations": deviations, "items": items, "seeds": 5}
    for behind, (effects, deviations), items in product(
        (0.0, 0.5, 1.0, 2.0), ((1.0, 1.0), (0.2, 0.3)), (500, 2000, 5000)
    )
]


def simulated(random, behind, effects, deviations, items, seeds) -> dict[str, bool | float | None]:
    """One comparison."""
    test = TestSet(random, "accuracy", alone(items, own=effects, noise=effects), 2)
    expected = scores_of_runs(random, "accuracy", seeds, [deviations] * 2, [behind, 0.0])
    [pair] = compare_pairs("accuracy", named(test.runs(expected)), 1)
    is_ahead = pair.difference < 0
    close = not (is_ahead or pair.alike or pair.decided) and is_close(pair)
    far = behind / 100 >= WORTH
    return {
        "close": None if far else close,
        "falsely close": close if far else None,
        "alike": pair.alike,
        "ahead": is_ahead,
        "lost": behind * (is_ahead or pair.alike or close),
        "lost by the best mean": behind * (is_ahead or pair.alike),
    }
