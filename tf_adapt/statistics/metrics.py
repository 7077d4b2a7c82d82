"""The table of scores: the summands of items, the score of their sums, where it is defined."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from tf_adapt.tasks.answer_scores import ANSWER_METRICS
from tf_adapt.tasks.by_kind.text_generation import ROUGE, count_words, rouge
from tf_adapt.tasks.spans import spans
from tf_adapt.tasks.tag_schemes import SCHEMES, WORDS


@dataclass(frozen=True)
class Metric:
    """A score as a function of sums over items.

    Args:
        items: predictions, gold, labels, scheme → `[items, k]`: see
            `tf_adapt.statistics.scores.item_statistics`.
        score: `[…, k]` → `[…]`: see `tf_adapt.statistics.scores.score_of`.
        is_defined: `[k]` → whether the score says anything: see
            `tf_adapt.statistics.slices.is_defined`.
        limits: the lowest and the highest score.
        point: the unit of what a difference on dev must be at least to say something: a hundredth
            of a score from 0 to 1; of a word's `ln p` 0.05, a perplexity lower by 5 %.
    """

    items: Callable[[Sequence, Sequence, Sequence | None, str | None], np.ndarray]
    score: Callable[[np.ndarray], np.ndarray]
    is_defined: Callable[[np.ndarray], bool]
    limits: tuple[float, float] = (0, 1)
    point: float = 0.01


def right_items(predictions: Sequence, gold: Sequence, labels, scheme: str | None) -> np.ndarray:
    """Right, 1; of tags in the scheme `words` right words, words."""
    if scheme == WORDS:
        pairs = zip(gold, predictions, strict=True)
        return np.array([_right_words(*pair) for pair in pairs], np.float64)
    right = _right(predictions, gold)
    return np.stack([right, np.ones_like(right)], axis=1)


def share(sums: np.ndarray) -> np.ndarray:
    """The mean of the items."""
    return ratio(sums[..., 0], sums[..., 1])


def has_gold(sums: np.ndarray) -> bool:
    """Whether there is an item, entity or label."""
    return bool(sums[1] > 0)


def ratio(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """`part / whole`, 0 without a whole."""
    return np.divide(part, whole, out=np.zeros_like(part), where=whole > 0)


def _right(predictions: Sequence, gold: Sequence) -> np.ndarray:
    return np.array([a == b for a, b in zip(predictions, gold, strict=True)], np.float64)


def _matthews_items(predictions: Sequence, gold: Sequence, labels, scheme) -> np.ndarray:
    right = _right(predictions, gold)
    return np.concatenate(
        [right[:, None], _one_hot(gold, labels), _one_hot(predictions, labels)], axis=1
    )


def _matthews(sums: np.ndarray) -> np.ndarray:
    true, predicted = np.split(sums[..., 1:], 2, axis=-1)
    count = true.sum(-1, keepdims=True)
    # s² − Σ pₖ² written as Σ pₖ(s − pₖ), which is 0 without rounding for a single class.
    spread = (true * (count - true)).sum(-1) * (predicted * (count - predicted)).sum(-1)
    covariance = sums[..., 0] * count[..., 0] - (true * predicted).sum(-1)
    return ratio(covariance, np.sqrt(spread))


def _has_two_labels(sums: np.ndarray) -> bool:
    true, _ = np.split(sums[1:], 2)
    return bool((true > 0).sum() > 1)


def _products(predictions: Sequence, gold: Sequence, labels, scheme) -> np.ndarray:
    x, y = np.asarray(gold, np.float64), np.asarray(predictions, np.float64)
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise ValueError("predictions and gold: expected finite numbers, got some that are not")
    x, y = _centred(x), _centred(y)
    return np.stack([np.ones_like(x), x, y, x * x, y * y, x * y], axis=1)


def _pearson(sums: np.ndarray) -> np.ndarray:
    count, x, y, xx, yy, xy = np.moveaxis(sums, -1, 0)
    spread_x, spread_y = count * xx - x * x, count * yy - y * y
    varies = (spread_x > 1e-12 * count * xx) & (spread_y > 1e-12 * count * yy)
    scale = np.sqrt(np.where(varies, spread_x * spread_y, 0.0))
    return np.clip(ratio(count * xy - x * y, scale), -1.0, 1.0)


def _varies(sums: np.ndarray) -> bool:
    count, x, _, xx = sums[:4]
    return bool(count > 2 and count * xx - x * x > 1e-12 * count * xx)


def _entity_items(
    predictions: Sequence, gold: Sequence, labels, scheme: str | None, *, strict: bool
) -> np.ndarray:
    if scheme not in SCHEMES:
        raise ValueError(f"scheme: expected one of {', '.join(SCHEMES)}, got {scheme!r}")
    pairs = zip(gold, predictions, strict=True)
    rows = [_entities(*pair, scheme if strict else None) for pair in pairs]
    return np.array(rows, np.float64)


def _label_counts(predictions: Sequence, gold: Sequence, labels, scheme) -> np.ndarray:
    true, predicted = _multi_hot(gold, labels), _multi_hot(predictions, labels)
    return np.stack([true * predicted, true, predicted], axis=1)  # [items, 3, labels]


def _micro_items(predictions: Sequence, gold: Sequence, labels, scheme) -> np.ndarray:
    return _label_counts(predictions, gold, labels, scheme).sum(-1)


def _macro_items(predictions: Sequence, gold: Sequence, labels, scheme) -> np.ndarray:
    return _label_counts(predictions, gold, labels, scheme).reshape(len(gold), -1)


def _f1(sums: np.ndarray) -> np.ndarray:
    return ratio(2.0 * sums[..., 0], sums[..., 1] + sums[..., 2])


def _macro_f1(sums: np.ndarray) -> np.ndarray:
    right, true, predicted = np.split(sums, 3, axis=-1)
    return ratio(2.0 * right, true + predicted).mean(-1)


def _balanced_items(predictions: Sequence, gold: Sequence, labels, scheme) -> np.ndarray:
    true = _one_hot(gold, labels)
    return np.concatenate([true * _one_hot(predictions, labels), true], axis=1)


def _balanced_accuracy(sums: np.ndarray) -> np.ndarray:
    right, true = np.split(sums, 2, axis=-1)
    present = (true > 0).sum(-1).astype(np.float64)
    return ratio(ratio(right, true).sum(-1), present)


def _has_a_true_label(sums: np.ndarray) -> bool:
    return bool(np.split(sums, 2)[1].any())


def _has_a_label(sums: np.ndarray) -> bool:
    return bool(np.split(sums, 3)[1].any())


def _answer_items(
    predictions: Sequence, gold: Sequence, labels, scheme, *, score: Callable
) -> np.ndarray:
    return np.array([[score(*pair), 1] for pair in zip(predictions, gold, strict=True)])


def _log_probability_items(predictions: Sequence, gold: Sequence, labels, scheme) -> np.ndarray:
    pairs = zip(predictions, gold, strict=True)
    return np.array([[one[1], count_words(text)] for one, text in pairs], np.float64)


def _hit_items(predictions: Sequence, gold: Sequence, labels, scheme) -> np.ndarray:
    return np.array([[one[2], 1] for one in predictions], np.float64)


def _rouge_items(predictions: Sequence, gold: Sequence, labels, scheme, *, name: str) -> np.ndarray:
    values = np.array(rouge([one[0] for one in predictions], gold)[name], np.float64)
    return np.stack([values, np.ones_like(values)], axis=1)


METRICS = {
    "accuracy": Metric(right_items, share, has_gold),
    "balanced_accuracy": Metric(_balanced_items, _balanced_accuracy, _has_a_true_label),
    "matthews": Metric(_matthews_items, _matthews, _has_two_labels, (-1, 1)),
    "pearson": Metric(_products, _pearson, _varies, (-1, 1)),
    "span_f1": Metric(partial(_entity_items, strict=False), _f1, has_gold),
    "strict_span_f1": Metric(partial(_entity_items, strict=True), _f1, has_gold),
    "micro_f1": Metric(_micro_items, _f1, has_gold),
    "macro_f1": Metric(_macro_items, _macro_f1, _has_a_label),
    "log_probability": Metric(_log_probability_items, share, has_gold, (-np.inf, 0), 0.05),
    "hits_at_1_of_4": Metric(_hit_items, share, has_gold),
} | {
    name: Metric(partial(_answer_items, score=score), share, has_gold)
    for name, score in ANSWER_METRICS.items()
}
METRICS |= {name: Metric(partial(_rouge_items, name=name), share, has_gold) for name in ROUGE}


def _right_words(true: Sequence[str], predicted: Sequence[str]) -> list[int]:
    _check_lengths(true, predicted)
    return [sum(a == b for a, b in zip(true, predicted, strict=True)), len(true)]


def _entities(true: Sequence[str], predicted: Sequence[str], strict: str | None) -> list[int]:
    _check_lengths(true, predicted)
    real, predicted_spans = spans(true, strict), spans(predicted, strict)
    return [len(set(real).intersection(predicted_spans)), len(real), len(predicted_spans)]


def _check_lengths(true: Sequence[str], predicted: Sequence[str]) -> None:
    if len(true) != len(predicted):
        raise ValueError(f"predictions: expected {len(true)} tags, got {len(predicted)}")


def _centred(values: np.ndarray) -> np.ndarray:
    centred = values - values.mean()
    constant = np.mean(centred**2) <= 1e-12 * np.mean(values**2)
    return np.zeros_like(values) if constant else centred


def _one_hot(used: Sequence, labels: Sequence | None) -> np.ndarray:
    ids = _ids(used, labels)
    return np.eye(len(ids))[[ids[label] for label in used]]


def _multi_hot(sets: Sequence, labels: Sequence | None) -> np.ndarray:
    """A row for each set of labels, or for each single label."""
    sets = [used if isinstance(used, (tuple, list, set, frozenset)) else (used,) for used in sets]
    ids = _ids([label for used in sets for label in used], labels)
    rows = np.zeros((len(sets), len(ids)))
    for row, used in zip(rows, sets, strict=True):
        row[[ids[label] for label in used]] = 1
    return rows


def _ids(used: Sequence, labels: Sequence | None) -> dict:
    """Label → id, after a check that `labels` has all used ones."""
    ids = {label: number for number, label in enumerate(labels or ())}
    unknown = sorted({str(label) for label in used if label not in ids})
    if unknown:
        raise ValueError(f"labels: expected all that occur, {', '.join(unknown[:5])} are missing")
    return ids
