"""The test of two cells and their relation: the one rule of verdict, guideline and report."""

from dataclasses import dataclass, replace

# With fewer items no test: the variance over them is too uncertain, and single ones weigh too much.
FEWEST_ITEMS = 20
# With fewer seeds no decision: their variance is hardly known.
FEWEST_SEEDS = 3
# With folds each repeat has several trainings.
FEWEST_REPEATS = 2
# A difference of two points is worth more labels; of a smaller one the same design tells as much.
WORTH = 0.02
AHEAD, BEHIND, ALIKE, OPEN = "ahead", "behind", "alike", "open"


@dataclass(frozen=True, kw_only=True)
class PairTest:
    """The test of two cells, one of all pairs of a comparison; see `pairs.compare_pairs`.

    Attributes:
        a, b: names of the cells.
        difference: score of a − score of b, mean over the seeds.
        interval: `[low, high]`, confidence interval of the difference, for this pair alone, not
            simultaneous; clipped to what the metric allows; None with one test item.
        level: confidence level of the interval.
        p: two-sided p-value of this pair alone.
        p_holm: with Holm's correction over all pairs that can be tested; None if this one cannot.
        decided: whether one cell is significantly ahead.
        alike: whether the difference is shown to be within a point.
        seeds_needed: `[fewest, most]` seeds of each cell with which a decision is to be expected,
            None for more than 100; None unless `why` is "more_seeds".
        larger_design: `[seeds or repeats of each cell, items]` with which a new comparison would
            decide the difference, or `WORTH` if it is smaller, with probability 0.8; None where
            none would, or there is nothing open.
        why: "decided", "alike", or what stands in the way, see `pairs.compare_pairs`.
        error: standard error of the difference; None with one item, and in older reports.
    """

    a: str
    b: str
    difference: float
    interval: list[float] | None
    level: float
    p: float
    p_holm: float | None
    decided: bool
    alike: bool
    seeds_needed: list[int | None] | None
    larger_design: list[int] | None = None
    why: str
    error: float | None = None

    def seen_from(self, name: str) -> "PairTest":
        """The same test with the cell `name` as a: its score − that of the other one."""
        if name == self.a:
            return self
        interval = self.interval and [-bound for bound in reversed(self.interval)]
        turned = {"a": self.b, "b": self.a, "difference": -self.difference, "interval": interval}
        return replace(self, **turned)


@dataclass(frozen=True)
class BaselineTest:
    """The test of a cell against the baseline; see `pairs.above_baseline`.

    Attributes:
        difference: score of the cell − score of the baseline.
        p_holm: with Holm's correction over the cells.
        above: whether the cell is significantly above the baseline.
    """

    difference: float
    p: float
    p_holm: float
    above: bool


def relation(pair: PairTest, name: str) -> str:
    """The relation of the cell `name` to the other one of a pair.

    `alike` takes precedence: a difference shown to be within a point justifies no costs, even if it
    is significant.
    """
    if pair.alike:
        return ALIKE
    if not pair.decided:
        return OPEN
    return AHEAD if (pair.difference > 0) == (pair.a == name) else BEHIND
