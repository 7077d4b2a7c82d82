"""What cross-validated linear models on TF-IDF say of texts and labels. Imports no TensorFlow."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import norm

from tf_adapt.comparison.baselines.bag_of_words import (
    features_like,
    logistic_regression,
    one_thread,
)
from tf_adapt.data.formats import Record, TaggedSentence
from tf_adapt.data.splits.groups import item_groups
from tf_adapt.statistics.label_errors import label_errors

FOLDS = 5
PENALTY = 0.1
MOST_TEXTS = 2000  # of a split, so that a diagnosis of a large one takes seconds


@dataclass(frozen=True)
class LabelCheck:
    """The share of labels that answers of models agree with which did not see the example.

    Attributes:
        train, dev: both by the same models, so that they differ by chance alone where labels are as
            good in both.
        z: their difference, dev − train, by its standard error.
    """

    train: float
    dev: float
    z: float


def label_check(train: Sequence[Record], dev: Sequence[Record]) -> LabelCheck:
    """Cross-validates on train; each model also answers dev. No difference, where none learns."""
    sample = _sample(train)
    classes, labels = np.unique([record.label for record in sample], return_inverse=True)
    answers = _out_of_fold(sample, labels, dev)
    if answers is None:
        return LabelCheck(1.0, 1.0, 0.0)
    own, others = answers
    right = own.argmax(1) == labels
    gold = [record.label for record in dev]
    # The mean over the models for each example of dev: they answer the same examples.
    right_on_dev = np.mean([classes[one.argmax(1)] == gold for one in others], axis=0)
    error = math.hypot(*(some.std() / math.sqrt(len(some)) for some in (right, right_on_dev)))
    difference = float(right_on_dev.mean() - right.mean())
    z = difference / error if error else 0.0
    return LabelCheck(float(right.mean()), float(right_on_dev.mean()), z)


def suspicious_labels(train: Sequence[Record]) -> np.ndarray:
    """Which labels are `label_errors` by the models of `label_check`, `[examples] bool`.

    Examples beyond the sample have the mean answer of all models; a label that is not in the sample
    is not suspicious.
    """
    found, chosen = np.zeros(len(train), bool), _chosen(len(train))
    sample = [train[number] for number in chosen]
    known, seen = {record.label for record in sample}, set(chosen)
    rest = [n for n, record in enumerate(train) if n not in seen and record.label in known]
    numbers = [*chosen, *rest]
    _, labels = np.unique([train[number].label for number in numbers], return_inverse=True)
    answers = _out_of_fold(sample, labels[: len(chosen)], [train[number] for number in rest])
    if answers is None:
        return found
    own, others = answers
    probabilities = np.concatenate([own, np.mean(others, axis=0)]) if rest else own
    found[[numbers[row] for row, *_ in label_errors(labels, probabilities)]] = True
    return found


def domain_auc(
    train: Sequence[Record | TaggedSentence], test: Sequence[Record | TaggedSentence]
) -> tuple[float, float, float]:
    """The area under the ROC curve of a model that tells the texts of test from those of train,
    and its 95 % interval; 0.5: they cannot be told apart, or no model learns."""
    from sklearn.metrics import roc_auc_score

    parts = [_sample(train), _sample(test)]
    origin = np.repeat([0, 1], [len(part) for part in parts])
    answers = _out_of_fold([*parts[0], *parts[1]], origin)
    if answers is None:
        return 0.5, 0.0, 1.0
    auc = float(roc_auc_score(origin, answers[0][:, 1]))
    width = float(norm.isf(0.025)) * auc_error(auc, *map(len, parts))
    return auc, max(0.0, auc - width), min(1.0, auc + width)


def auc_error(auc: float, positives: int, negatives: int) -> float:
    """The standard error of an area under the ROC curve.

    Source: Hanley and McNeil 1982, "The meaning and use of the area under a ROC curve", equation 1.
    """
    above, below = auc / (2 - auc) - auc**2, 2 * auc**2 / (1 + auc) - auc**2
    variance = auc * (1 - auc) + (positives - 1) * above + (negatives - 1) * below
    return math.sqrt(variance / (positives * negatives))


def _sample(examples: Sequence[Record | TaggedSentence]) -> list[Record]:
    """At most `MOST_TEXTS` of them; sentences as texts."""
    return [
        example if isinstance(example, Record) else Record(example.shown)
        for example in (examples[number] for number in _chosen(len(examples)))
    ]


def _chosen(count: int) -> list[int]:
    """The numbers of at most `MOST_TEXTS` of so many examples, ascending; always the same."""
    return sorted(np.random.default_rng(0).permutation(count)[:MOST_TEXTS].tolist())


def _out_of_fold(
    records: Sequence[Record], targets: np.ndarray, others: Sequence[Record] = ()
) -> tuple[np.ndarray, list[np.ndarray]] | None:
    """The probabilities of each class by a model that did not see the example, nor one that shares
    a text with it, `[examples, classes]`; and those of each model for other examples.

    None: there is nothing to learn (no word, or no fold with two classes beside it).
    """
    groups = item_groups(records)
    folds = min(FOLDS, int(groups.max()) + 1, int(np.bincount(targets).max()))
    if folds < 2 or not any(text.strip() for record in records for text in record.texts):
        return None
    features = features_like(records)
    of_texts, of_others = features(records), features(others) if others else None
    shape = (len(records), int(targets.max()) + 1)
    probabilities, elsewhere, learnt = np.zeros(shape), [], False
    with one_thread():
        for fitted, left in _parts(folds, targets, groups):
            if len(set(targets[fitted])) < 2:
                probabilities[left, targets[fitted[0]]] = 1.0
                continue
            learnt = True
            model = logistic_regression(PENALTY).fit(of_texts[fitted], targets[fitted])
            probabilities[np.ix_(left, model.classes_)] = model.predict_proba(of_texts[left])
            if others:
                answers = np.zeros((len(others), shape[1]))
                answers[:, model.classes_] = model.predict_proba(of_others)
                elsewhere.append(answers)
    return (probabilities, elsewhere) if learnt else None


def _parts(
    folds: int, targets: np.ndarray, groups: np.ndarray
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The examples that are fitted on, and those left out, of each fold."""
    from sklearn.model_selection import StratifiedGroupKFold

    return StratifiedGroupKFold(folds, shuffle=True, random_state=0).split(targets, targets, groups)
