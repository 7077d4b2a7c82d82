"""Kinds of task → the predictions of a model, or of an export, for examples."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from tf_adapt.serving.by_kind import (
    classification,
    multilabel_classification,
    regression,
    span_extraction,
    tagging,
)
from tf_adapt.serving.by_kind.classification import PAIR, TEXT, Answer
from tf_adapt.serving.prediction import certainties as certain
from tf_adapt.serving.prediction.answers import Prediction
from tf_adapt.tasks.task import Task

Predictions = Callable[[Task, list, Answer], list[Prediction]]


@dataclass(frozen=True)
class Row:
    """The predictions of a kind of task.

    Args:
        predictions: task, examples, arrays of `batch_predictions` → the predictions.
        served: task, a signature of an export, examples → the same arrays.
        served_predictions: as `predictions`, from these arrays.
        of_examples: an output of a batch, its inputs → what of it belongs to each example.
        joined: what belongs to each example → one array.
        rows: examples → the length of this array.
        certainties: labels of the task, a prediction, gold → probabilities that were given, and
            whether they came true.
        scores: task, labelled examples, predictions → the metrics, but the loss.
    """

    predictions: Predictions
    served: Callable[[Task, Callable, list], Answer]
    served_predictions: Predictions
    of_examples: Callable[[np.ndarray, dict], list | np.ndarray] = classification.of_rows
    joined: Callable[[list], np.ndarray] = np.stack
    rows: Callable[[list], int] = len
    scores: Callable[[Task, list, list[Prediction]], dict[str, float]] = classification.label_scores
    certainties: Callable[..., list[tuple[float, bool]]] = certain.of_label


def _row(predictions: Predictions, served: Callable, **more: Callable) -> Row:
    return Row(predictions, served, predictions, **more)


_LABEL = _row(classification.predictions, partial(classification.served, names=TEXT))
_NUMBER = _row(
    regression.predictions, partial(regression.served, names=TEXT), certainties=certain.none
)
KINDS = {
    "classification": _LABEL,
    "multilabel_classification": _row(
        multilabel_classification.predictions,
        partial(multilabel_classification.served, names=TEXT),
        certainties=certain.of_set,
    ),
    "regression": _NUMBER,
    "pair_classification": replace(_LABEL, served=partial(classification.served, names=PAIR)),
    "pair_regression": replace(_NUMBER, served=partial(regression.served, names=PAIR)),
    "tagging": Row(
        tagging.predictions,
        tagging.served,
        tagging.predictions,
        tagging.of_words,
        np.concatenate,
        tagging.number_of_words,
        tagging.sentence_scores,
        certain.of_tags,
    ),
    "span_extraction": Row(
        span_extraction.predictions,
        span_extraction.served,
        span_extraction.served_predictions,
        certainties=certain.none,
    ),
}
