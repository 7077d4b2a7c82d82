"""The score of a slice of the examples, as a value; `slices` computes it. Imports no SciPy."""

from dataclasses import dataclass

# Of the intervals.
LEVEL = 0.95


@dataclass(frozen=True, kw_only=True)
class SliceScore:
    """The score of one slice, of one run or as a mean over seeds.

    Attributes:
        examples: their number in the slice.
        score: None if the metric is undefined on them, see `is_defined`.
        interval: `[low, high]`, confidence interval of the score at `LEVEL`; None if it is unknown:
            fewer than two items, or all alike.
        rest: the score of all other examples; None if undefined.
        p: two-sided p-value of slice and rest having equal expected scores; None: not tested.
        p_holm: with Holm's correction over all slices that were tested together.
        challenging: whether the score is significantly below that of the rest.
    """

    examples: int
    score: float | None
    interval: list[float] | None
    rest: float | None
    p: float | None
    p_holm: float | None = None
    challenging: bool = False
