"""Span extraction: loss and scores of whole questions, in place of those of Keras, which sees the
windows of a context apart."""

from collections.abc import Sequence
from dataclasses import replace

import keras
import numpy as np

from tf_adapt.data.batches import PreparedData
from tf_adapt.models.adapted_model import AdaptedModel
from tf_adapt.serving.by_kind.span_extraction import scores
from tf_adapt.serving.prediction.answers import chosen_no_answer_threshold
from tf_adapt.serving.prediction.predict import batch_predictions, to_predictions
from tf_adapt.serving.prediction.prediction import Prediction
from tf_adapt.tasks.task import Task
from tf_adapt.training.by_kind.classification import Answer, Scores
from tf_adapt.training.by_kind.multilabel_classification import not_finite


def question_scores(
    model: AdaptedModel,
    prepared: PreparedData,
    records: list,
    batch_size: int,
    callbacks: Sequence[keras.callbacks.Callback] = (),
) -> Scores:
    """The mean loss of all windows, and the scores of the answers to all questions."""
    windows = batch_predictions(model, prepared, batch_size)
    predictions = to_predictions(model.task, records, windows)
    return scores_of_windows(model.task, records, windows, predictions)


def scores_of_windows(
    task: Task, records: list, windows: Answer, predictions: list[Prediction]
) -> Scores:
    """The mean loss of predicted windows, and the scores of the answers in them."""
    return {"loss": float(np.mean(windows["loss"])), **scores(task, records, predictions)}


def not_evaluated(
    model: AdaptedModel, prepared: PreparedData, records: list, batch_size: int
) -> Scores:
    """Nothing: all scores are those of predictions."""
    return {}


def all_splits(names: list[str], writes: bool) -> list[str]:
    """The splits to predict: all in every process, which has no other scores."""
    return names


def with_no_answer_threshold(task: Task, records: list, windows: Answer) -> Task:
    """The task with the threshold that is best for these predictions on dev.

    Raises:
        TrainingError: a score is not finite.
    """
    if not np.isfinite(windows["score"]).all():
        raise not_finite("scores")
    threshold = chosen_no_answer_threshold(task, records, windows)
    return replace(task, spans=replace(task.spans, no_answer_threshold=threshold))
