"""The score of a slice of the examples, and whether it is below that of the rest."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy.special import stdtr, stdtrit

from tf_adapt.statistics.metrics import METRICS
from tf_adapt.statistics.pairs import holm
from tf_adapt.statistics.relation import FEWEST_ITEMS
from tf_adapt.statistics.scores import of_groups, pseudo_values, score_of, sums_of
from tf_adapt.statistics.slice_score import LEVEL, SliceScore
from tf_adapt.statistics.two_cells import ROUNDING, CellSample, sample_of, sample_of_values


def slice_score(
    metric: str,
    statistics: np.ndarray,
    members: np.ndarray,
    groups: np.ndarray,
    tested: bool = True,
    folds: np.ndarray | None = None,
) -> SliceScore:
    """The score of a slice with its interval, and the test of the difference from the rest.

    With D = score(slice) − score(rest) of each run, the pseudo-values of D are those of the
    jackknife that leaves out one item, a group of dependent examples, from both sides:
    `y_i = n·D − (n − 1)·D_without_i`. An item may have examples on both sides. As in
    `two_cells.compare_cells`, with S seeds and n items:

        variance = seeds + items − min(seeds, items, residual)
        seeds    = var(D over seeds) / S
        items    = max(var(mean of y over seeds, over items) / n,
                       var(mean of z over seeds, over items) · (1 / m + 1 / m'))

    with z the pseudo-values of the score of all examples, m and m' the numbers of items in the
    slice and in the rest: a small slice that is all right, or all wrong, has no variance of its
    own. `t = D / √variance` has `variance² / (seeds² / (S − 1) + items² / (m − 1))` degrees of
    freedom, m the smaller of the two (Welch's lower bound). With one seed the test is about this
    one run; with folds the variance over seeds is that of `two_cells.sample_of_values`. The
    interval of the score is made in the same way from the pseudo-values of the slice's items, with
    the first of the two variances.

    In simulated slices that are no harder (accuracy, Pearson, span F1; 1, 3 and 5 seeds; 20, 40 and
    100 of 400 items; 1,200 each) p is at most 0.05 in 0 to 5.0 %.

    Not tested: fewer than `FEWEST_ITEMS` items on a side, or a score that is undefined.

    Shapes: statistics `[seeds, examples, k]`, members `[examples] bool`, groups `[examples] int`.

    Args:
        metric: as for `item_statistics`.
        statistics: `item_statistics` of each seed's run.
        groups: the item of each example, see `tf_adapt.data.splits.groups`.
        tested: False for a slice that was chosen by its predictions: no test would be one.
        folds: as for `two_cells.sample_of_values`, `[seeds, items] int`.
    """
    inside, outside = (_of_items(statistics, side, groups) for side in (members, ~members))
    chosen = np.unique(groups[members])
    score, interval = _score_and_interval(
        metric, inside[:, chosen], None if folds is None else folds[:, chosen]
    )
    rest = _mean_score(metric, outside)
    p, counts = None, [len(np.unique(groups[side])) for side in (members, ~members)]
    if tested and min(counts) >= FEWEST_ITEMS and None not in (score, rest):
        p = _p_of_equal(metric, inside, outside, counts, folds)
    return SliceScore(examples=int(members.sum()), score=score, interval=interval, rest=rest, p=p)


def with_challenging(scores: Sequence[SliceScore], alpha: float) -> list[SliceScore]:
    """The scores with Holm's correction over all that were tested, at level `alpha`.

    Challenging: below the rest, with p_holm ≤ α; the probability of any false one is at most α.
    With α 0 there are none.
    """
    tested = [number for number, score in enumerate(scores) if score.p is not None]
    adjusted = dict(zip(tested, holm([scores[number].p for number in tested]), strict=True))
    return [
        replace(
            score,
            p_holm=adjusted.get(number),
            challenging=number in adjusted
            and 0 < alpha >= adjusted[number]
            and score.score < score.rest,
        )
        for number, score in enumerate(scores)
    ]


def is_defined(metric: str, sums: np.ndarray) -> bool:
    """Whether a metric says anything of examples whose statistics add up to `sums`.

    It takes at least one example; for pearson three, with different gold scores; for matthews two
    gold labels; for F1 a gold entity or label. What a run predicts does not matter.

    Shapes: `[k]`.
    """
    return METRICS[metric].is_defined(sums)


def _of_items(statistics: np.ndarray, side: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """The sums over the examples of one side in each item, `[seeds, items, k]`."""
    return np.stack([of_groups(sums * side[:, None], groups) for sums in statistics])


def _mean_score(metric: str, items: np.ndarray) -> float | None:
    """The mean over the seeds; None if undefined."""
    sums = sums_of(items)
    return float(score_of(metric, sums).mean()) if is_defined(metric, sums[0]) else None


def _score_and_interval(
    metric: str, items: np.ndarray, folds: np.ndarray | None
) -> tuple[float | None, list[float] | None]:
    score = _mean_score(metric, items)
    if score is None or items.shape[1] < 2:
        return score, None
    sample = sample_of(metric, items, _if_full(folds))
    variance, freedom = _variance(sample, _variance_over_items(sample.items), items.shape[1])
    if variance < ROUNDING**2:
        return score, None
    half = float(np.sqrt(variance) * stdtrit(freedom, (1 + LEVEL) / 2))
    low, high = METRICS[metric].limits
    return score, [max(low, score - half), min(high, score + half)]


def _p_of_equal(
    metric: str,
    inside: np.ndarray,
    outside: np.ndarray,
    counts: Sequence[int],
    folds: np.ndarray | None,
) -> float:
    """The two-sided p-value of equal expected scores, from sums `[seeds, items, k]`."""
    totals = inside.sum(1, keepdims=True), outside.sum(1, keepdims=True)
    difference = score_of(metric, totals[0]) - score_of(metric, totals[1])  # [seeds, 1]
    without = score_of(metric, totals[0] - inside) - score_of(metric, totals[1] - outside)
    number = inside.shape[1]
    values = number * difference - (number - 1) * without
    sample = sample_of_values(difference[:, 0], values, folds)
    of_all = pseudo_values(metric, inside + outside).mean(0)
    pooled = float(np.var(of_all, ddof=1)) * sum(1 / count for count in counts)
    by_item = max(_variance_over_items(sample.items), pooled)
    variance, freedom = _variance(sample, by_item, min(counts))
    distance = abs(float(difference.mean()))
    if variance < ROUNDING**2:
        return 1.0 if distance < ROUNDING else 2.0 ** (1 - min(counts))
    return float(2 * stdtr(freedom, -distance / np.sqrt(variance)))


def _if_full(folds: np.ndarray | None) -> np.ndarray | None:
    """The folds, or None where one of a repeat has no item of a small slice: then the repeats are
    compared as seeds are."""
    if folds is None:
        return None
    count = int(folds.max()) + 1
    full = all(np.bincount(repeat, minlength=count).all() for repeat in folds)
    return folds if full and count > 1 else None


def _variance_over_items(values: np.ndarray) -> float:
    return float(np.var(values, ddof=1) / len(values))


def _variance(sample: CellSample, by_item: float, fewest: int) -> tuple[float, float]:
    """The variance of a mean over seeds and items, and its degrees of freedom."""
    seeds = len(sample.scores)
    by_seed = sample.seed_variance / seeds + sample.shared
    residual = sample.residual / (seeds * len(sample.items))
    variance = by_seed + by_item - min(by_seed, by_item, residual)
    spread = by_seed**2 / sample.freedom(seeds) + by_item**2 / (fewest - 1)
    return variance, variance**2 / spread if spread > 0 else np.inf
