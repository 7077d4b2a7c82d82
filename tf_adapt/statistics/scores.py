"""Scores as functions of sums over test items, so that the jackknife is a subtraction."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tf_adapt.tasks.answer_scores import ANSWER_METRICS
from tf_adapt.tasks.spans import spans
from tf_adapt.tasks.tag_schemes import SCHEMES, WORDS

SPAN_METRICS = ("span_f1", "strict_span_f1")
SET_METRICS = ("micro_f1", "macro_f1")
METRICS = (
    "accuracy",
    "matthews",
    "pearson",
    *SPAN_METRICS,
    *SET_METRICS,
    *ANSWER_METRICS,
)
# The lowest and the highest score.
RANGES = dict.fromkeys(METRICS, (0, 1)) | dict.fromkeys(("matthews", "pearson"), (-1, 1))


@dataclass(frozen=True)
class Summary:
    """What several scores come to.

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
    one-hot the true label and the predicted one.
    pearson: 1, x, y, x², y², xy with x the gold and y the predicted score, both centred by their
    means, which does not change the correlation and keeps differences of large sums exact; a
    constant side (as in `tf_adapt.tasks.metrics.PearsonCorrelation`) becomes zeros. span_f1: right,
    true and predicted entities of a sentence, as in conlleval; strict_span_f1: strict in the
    scheme; see `tf_adapt.tasks.spans`. micro_f1: right, true and predicted labels; macro_f1:
    whether each label is right, then true, then predicted. exact_match and f1: the score of the
    answer, 1; see `tf_adapt.tasks.answer_scores`.

    Shapes: → `[items, k] float64`; k is 2, 1 + 2 labels, 6, 3, 3, 3 labels and 2.

    Args:
        metric: one of METRICS.
        predictions, gold: of one run, one for each test item: labels (names or ids), numbers
            (pearson), the tags of a sentence (span_f1, strict_span_f1), a collection of labels
            (micro_f1, macro_f1), or an answer and the gold answers (exact_match, f1).
        labels: all labels, for matthews, micro_f1 and macro_f1.
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
    if metric in SPAN_METRICS:
        if scheme not in SCHEMES:
            raise ValueError(f"scheme: expected one of {', '.join(SCHEMES)}, got {scheme!r}")
        strict = scheme if metric == "strict_span_f1" else None
        rows = [_entities(*pair, strict) for pair in zip(gold, predictions, strict=True)]
        return np.array(rows, np.float64)
    if metric in SET_METRICS:
        true, predicted = _multi_hot(gold, labels), _multi_hot(predictions, labels)
        counts = np.stack([true * predicted, true, predicted], axis=1)  # [items, 3, labels]
        return counts.sum(-1) if metric == "micro_f1" else counts.reshape(len(gold), -1)
    if metric == "pearson":
        return _products(np.asarray(gold, np.float64), np.asarray(predictions, np.float64))
    if metric in ANSWER_METRICS:
        score = ANSWER_METRICS[metric]
        return np.array([[score(*pair), 1] for pair in zip(predictions, gold, strict=True)])
    if metric == "accuracy" and scheme == WORDS:
        return np.array(
            [_right_words(*pair) for pair in zip(gold, predictions, strict=True)], np.float64
        )
    right = np.array([a == b for a, b in zip(predictions, gold, strict=True)], np.float64)
    if metric == "accuracy":
        return np.stack([right, np.ones_like(right)], axis=1)
    return np.concatenate(
        [right[:, None], _one_hot(gold, labels), _one_hot(predictions, labels)], axis=1
    )


def of_groups(statistics: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """The sums of the statistics over each group of dependent examples: the items of the test.

    Shapes: statistics `[items, k]`, groups `[items] int` (ids from 0) → `[groups, k]`.
    """
    sums = np.zeros((groups.max() + 1, statistics.shape[1]))
    np.add.at(sums, groups, statistics)
    return sums


def score_of(metric: str, sums: np.ndarray) -> np.ndarray:
    """The score of items whose statistics add up to `sums`; 0 where it is undefined.

    accuracy: `right / n`; exact_match and f1: the mean score. matthews: Gorodkin's
    `(c·s − Σ tₖpₖ) / √((s² − Σ pₖ²)(s² − Σ tₖ²))`. pearson:
    `(nΣxy − ΣxΣy) / √((nΣx² − (Σx)²)(nΣy² − (Σy)²))`. span_f1: `2·right / (true + predicted)`, and
    strict_span_f1 and micro_f1 too; macro_f1: the mean of that over the labels.

    Shapes: `[…, k] float64` → `[…]`.
    """
    if metric == "accuracy" or metric in ANSWER_METRICS:
        return _ratio(sums[..., 0], sums[..., 1])
    if metric in (*SPAN_METRICS, "micro_f1"):
        return _ratio(2.0 * sums[..., 0], sums[..., 1] + sums[..., 2])
    if metric == "macro_f1":
        right, true, predicted = np.split(sums, 3, axis=-1)
        return _ratio(2.0 * right, true + predicted).mean(-1)
    if metric == "matthews":
        true, predicted = np.split(sums[..., 1:], 2, axis=-1)
        count = true.sum(-1, keepdims=True)
        # s² − Σ pₖ² written as Σ pₖ(s − pₖ), which is 0 without rounding for a single class.
        spread = (true * (count - true)).sum(-1) * (predicted * (count - predicted)).sum(-1)
        covariance = sums[..., 0] * count[..., 0] - (true * predicted).sum(-1)
        return _ratio(covariance, np.sqrt(spread))
    count, x, y, xx, yy, xy = np.moveaxis(sums, -1, 0)
    spread_x, spread_y = count * xx - x * x, count * yy - y * y
    varies = (spread_x > 1e-12 * count * xx) & (spread_y > 1e-12 * count * yy)
    scale = np.sqrt(np.where(varies, spread_x * spread_y, 0.0))
    return np.clip(_ratio(count * xy - x * y, scale), -1.0, 1.0)


def pseudo_values(metric: str, statistics: np.ndarray) -> np.ndarray:
    """The jackknife pseudo-value of each item: `n·score − (n − 1)·score without the item`.

    For accuracy it is 1 for a right item and 0 for a wrong one. For any metric here the variance of
    its mean estimates that of the score, over test sets of this size.

    Shapes: `[…, items, k]` → `[…, items]`.

    Source: Efron and Stein 1981, "The jackknife estimate of variance".
    """
    sums = statistics.sum(axis=-2, keepdims=True)
    count = statistics.shape[-2]
    return count * score_of(metric, sums) - (count - 1) * score_of(metric, sums - statistics)


def _right_words(true: Sequence[str], predicted: Sequence[str]) -> list[int]:
    _check_lengths(true, predicted)
    return [sum(a == b for a, b in zip(true, predicted, strict=True)), len(true)]


def _entities(true: Sequence[str], predicted: Sequence[str], strict: str | None) -> list[int]:
    _check_lengths(true, predicted)
    real, found = spans(true, strict), spans(predicted, strict)
    return [len(set(real).intersection(found)), len(real), len(found)]


def _check_lengths(true: Sequence[str], predicted: Sequence[str]) -> None:
    if len(true) != len(predicted):
        raise ValueError(f"predictions: expected {len(true)} tags, got {len(predicted)}")


def _products(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise ValueError("predictions and gold: expected finite numbers, got some that are not")
    x, y = _centred(x), _centred(y)
    return np.stack([np.ones_like(x), x, y, x * x, y * y, x * y], axis=1)


def _centred(values: np.ndarray) -> np.ndarray:
    centred = values - values.mean()
    constant = np.mean(centred**2) <= 1e-12 * np.mean(values**2)
    return np.zeros_like(values) if constant else centred


def _one_hot(used: Sequence, labels: Sequence | None) -> np.ndarray:
    ids = _ids(used, labels)
    return np.eye(len(ids))[[ids[label] for label in used]]


def _multi_hot(sets: Sequence, labels: Sequence | None) -> np.ndarray:
    ids = _ids([label for one in sets for label in one], labels)
    rows = np.zeros((len(sets), len(ids)))
    for row, one in zip(rows, sets, strict=True):
        row[[ids[label] for label in one]] = 1
    return rows


def _ids(used: Sequence, labels: Sequence | None) -> dict:
    """Label → id, after a check that `labels` has all used ones."""
    ids = {label: number for number, label in enumerate(labels or ())}
    unknown = sorted({str(label) for label in used if label not in ids})
    if unknown:
        raise ValueError(f"labels: expected all that occur, {', '.join(unknown[:5])} are missing")
    return ids


def _ratio(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    return np.divide(part, whole, out=np.zeros_like(part), where=whole > 0)
