"""Kinds of task → the predictions of a model, or of an export, for examples. No TensorFlow."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from tf_adapt.serving.by_kind import (
    classification,
    dialog,
    multilabel_classification,
    regression,
    span_extraction,
    tagging,
    text_generation,
)
from tf_adapt.serving.by_kind.classification import PAIR, TEXT, Answer, Columns, Outputs
from tf_adapt.serving.prediction import certainties as certain
from tf_adapt.serving.prediction.prediction import Prediction
from tf_adapt.tasks.task import Task

Predictions = Callable[[Task, list, Answer], list[Prediction]]


@dataclass(frozen=True)
class Row:
    """The predictions of a kind of task.

    Args:
        predictions: task, examples, arrays of `batch_predictions` → the predictions.
        columns: examples → the inputs of a signature of an export.
        served: task, examples, the outputs of the signature → the same arrays.
        served_predictions: as `predictions`, from these arrays.
        of_examples: an output of a batch, its inputs → what of it belongs to each example.
        joined: what belongs to each example → one array.
        rows: examples → the length of this array.
        certainties: labels of the task, a prediction, gold → probabilities that were given, and
            whether they came true.
        scores: task, labelled examples, predictions → the metrics, but the loss.
    """

    predictions: Predictions
    columns: Callable[[list], Columns]
    served: Callable[[Task, list, Outputs], Answer]
    served_predictions: Predictions
    of_examples: Callable[[np.ndarray, dict], list | np.ndarray] = classification.of_rows
    joined: Callable[[list], np.ndarray] = np.stack
    rows: Callable[[list], int] = len
    scores: Callable[[Task, list, list[Prediction]], dict[str, float]] = classification.label_scores
    certainties: Callable[..., list[tuple[float, bool]]] = certain.of_label


_ONE_TEXT, _TWO_TEXTS, _QUESTION = (
    partial(classification.columns, names=names) for names in (TEXT, PAIR, span_extraction.QUESTION)
)


def _row(predictions: Predictions, served: Callable, **more: Callable) -> Row:
    return Row(predictions, _ONE_TEXT, served, predictions, **more)


_LABEL = _row(classification.predictions, classification.served)
_NUMBER = _row(regression.predictions, regression.served, certainties=certain.none)
KINDS = {
    "classification": _LABEL,
    "multilabel_classification": _row(
        multilabel_classification.predictions,
        multilabel_classification.served,
        certainties=certain.of_set,
    ),
    "regression": _NUMBER,
    "pair_classification": replace(_LABEL, columns=_TWO_TEXTS),
    "pair_regression": replace(_NUMBER, columns=_TWO_TEXTS),
    "tagging": Row(
        tagging.predictions,
        tagging.columns,
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
        _QUESTION,
        span_extraction.served,
        span_extraction.served_predictions,
        scores=span_extraction.scores,
        certainties=certain.none,
    ),
    "text_generation": _row(
        text_generation.predictions,
        text_generation.served,
        scores=text_generation.text_scores,
        certainties=certain.none,
    ),
    "dialog": Row(
        dialog.predictions,
        dialog.columns,
        dialog.served,
        dialog.predictions,
        scores=dialog.reply_scores,
        certainties=certain.none,
    ),
}
