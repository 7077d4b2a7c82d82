"""Scores as functions of sums over test items, so that the jackknife is a subtraction."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tf_adapt.statistics.metrics import METRICS


@dataclass(frozen=True)
class Summary:
    """Mean, spread and range of several scores.

    Attributes:
        deviation: of the sample (n − 1); None with one score.
    """

    mean: float
    deviation: float | None
    min: float
    max: float


def summary(scores: Sequence[float]) -> Summary:
    """Mean, deviation, minimum and maximum.

    Raises:
        ValueError: there is no score.
    """
    if not len(scores):
        raise ValueError("scores: expected at least one, got none")
    values = np.asarray(scores, np.float64)
    return Summary(
        mean=float(values.mean()),
        deviation=float(values.std(ddof=1)) if len(values) > 1 else None,
        min=float(values.min()),
        max=float(values.max()),
    )


def item_statistics(
    metric: str,
    predictions: Sequence,
    gold: Sequence,
    labels: Sequence | None = None,
    scheme: str | None = None,
) -> np.ndarray:
    """The summands of each test item; `score_of` is a function of their sums.

    accuracy: right, 1; of tags in the scheme `words` right words, words. matthews: right, then
    one-hot the true label and the predicted one. balanced_accuracy: one-hot the true label where it
    is right, then the true label.
    pearson: 1, x, y, x², y², xy with x the gold and y the predicted score, both centred by their
    means, which does not change the correlation and keeps differences of large sums exact; a
    constant side (as in `tf_adapt.tasks.metrics.PearsonCorrelation`) becomes zeros. span_f1: right,
    true and predicted entities of a sentence, as in conlleval; strict_span_f1: strict in the
    scheme; see `tf_adapt.tasks.spans`. micro_f1: right, true and predicted labels; macro_f1:
    whether each label is right, then true, then predicted. exact_match and f1: the score of the
    answer, 1; see `tf_adapt.tasks.answer_scores`. log_probability: `log p` of the right text, its
    words; hits_at_1_of_4: whether the right reply was chosen, 1; rouge1, rouge2, rougeL: that of
    the text, 1.

    Shapes: → `[items, k] float64`; k is 2, 1 + 2 labels, 2 labels, 6, 3, 3, 3 labels, then 2.

    Args:
        metric: a key of `tf_adapt.statistics.metrics.METRICS`.
        predictions, gold: of one run, one for each test item: labels (names or ids), numbers
            (pearson), the tags of a sentence (span_f1, strict_span_f1), a collection of labels
            (micro_f1; macro_f1, also of single labels), an answer and the gold answers
            (exact_match, f1), or what `read_predictions` gives of written texts, and right ones.
        labels: all labels, for matthews, balanced_accuracy, micro_f1 and macro_f1.
        scheme: of the tags of sentences: "IOB1", "IOB2" or "BIOES" for span_f1 and strict_span_f1,
            "words" for accuracy.

    Raises:
        ValueError: unknown metric or scheme; numbers of items or tags differ, or there are none; a
            label is not among `labels`, or these are missing; a number is not finite.
    """
    if metric not in METRICS:
        raise ValueError(f"metric: expected one of {', '.join(METRICS)}, got {metric!r}")
    if len(predictions) != len(gold) or not len(gold):
        raise ValueError(
            f"predictions: expected one for each of {len(gold)} test items (at least one), got "
            f"{len(predictions)}"
        )
    return METRICS[metric].items(predictions, gold, labels, scheme)


def of_groups(statistics: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """The sums of the statistics over each group of dependent examples: the items of the test.

    Shapes: statistics `[items, k]`, groups `[items] int` (ids from 0) → `[groups, k]`.
    """
    sums = np.zeros((groups.max() + 1, statistics.shape[1]))
    np.add.at(sums, groups, statistics)
    return sums


def sums_of(statistics: np.ndarray) -> np.ndarray:
    """The sums over the items, `[…, items, k]` → `[…, k]`."""
    # NumPy adds up along the last axis several times faster than along the one before a short last.
    return np.ascontiguousarray(np.swapaxes(statistics, -1, -2)).sum(axis=-1)


def score_of(metric: str, sums: np.ndarray) -> np.ndarray:
    """The score of items whose statistics add up to `sums`; 0 where it is undefined.

    accuracy and hits_at_1_of_4: `right / n`; exact_match, f1 and ROUGE: the mean; log_probability:
    the mean of a word. matthews: Gorodkin's
    `(c·s − Σ tₖpₖ) / √((s² − Σ pₖ²)(s² − Σ tₖ²))`. balanced_accuracy: the mean over the labels
    with examples of `right / true`. pearson:
    `(nΣxy − ΣxΣy) / √((nΣx² − (Σx)²)(nΣy² − (Σy)²))`. span_f1: `2·right / (true + predicted)`, and
    strict_span_f1 and micro_f1 too; macro_f1: the mean of that over the labels.

    Shapes: `[…, k] float64` → `[…]`.
    """
    return METRICS[metric].score(sums)


def pseudo_values(metric: str, statistics: np.ndarray) -> np.ndarray:
    """The jackknife pseudo-value of each item: `n·score − (n − 1)·score without the item`.

    For accuracy it is 1 for a right item and 0 for a wrong one. For any metric here the variance of
    its mean estimates that of the score, over test sets of this size.

    Shapes: `[…, items, k]` → `[…, items]`.

    Source: Efron and Stein 1981, "The jackknife estimate of variance".
    """
    sums = sums_of(statistics)[..., None, :]
    count = statistics.shape[-2]
    return count * score_of(metric, sums) - (count - 1) * score_of(metric, sums - statistics)
