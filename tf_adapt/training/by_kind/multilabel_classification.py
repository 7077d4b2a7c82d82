"""Multilabel classification: thresholds, and scores with them."""

from dataclasses import replace

import numpy as np

from tf_adapt.data.formats import Record
from tf_adapt.errors import TrainingError
from tf_adapt.models.combination import SMALLEST
from tf_adapt.serving.by_kind.classification import label_scores
from tf_adapt.serving.prediction.prediction import Prediction
from tf_adapt.tasks.task import Task
from tf_adapt.tasks.thresholds import best_thresholds
from tf_adapt.training.by_kind.classification import Answer, Scores


def scores_with_thresholds(
    task: Task, records: list, answer: Answer, predictions: list[Prediction]
) -> Scores:
    """`label_scores`: Keras evaluates before thresholds are chosen."""
    return label_scores(task, records, predictions)


def with_thresholds(task: Task, records: list, answer: Answer) -> Task:
    """The task with the thresholds that are best for these predictions on dev.

    Raises:
        TrainingError: a probability is not finite.
    """
    if not np.isfinite(answer["probabilities"]).all():
        raise not_finite("probabilities")
    targets = np.array([[label in record.label for label in task.labels] for record in records])
    return replace(task, thresholds=best_thresholds(answer["probabilities"], targets))


def not_finite(what: str) -> TrainingError:
    """The error where thresholds cannot be chosen."""
    return TrainingError(
        f"training.choose_thresholds: expected finite {what} of the dev examples, got some that "
        "are not; lower training.learning_rate, or set training.mixed_precision: null"
    )


def log_odds(answer: Answer) -> np.ndarray:
    """Finite logits with the probabilities p of an ensemble's answer: `log p/(1 − p)`."""
    probabilities = answer["probabilities"].astype("float64")
    logits = np.log(np.maximum(probabilities, SMALLEST))
    return (logits - np.log(np.maximum(1.0 - probabilities, SMALLEST))).astype("float32")


def with_no_label(record: Record, task: Task) -> Record:
    """A text without labels as an example."""
    return replace(record, label=())


def choices(task: Task, records: list, answer: Answer) -> tuple[np.ndarray, np.ndarray]:
    """The probabilities of each choice, without the label and with it, and which is true."""
    having = answer["probabilities"].reshape(-1).astype("float64")
    targets = [int(label in record.label) for record in records for label in task.labels]
    return np.stack([1 - having, having], axis=1), np.array(targets)
