"""The answers of multilabel classifiers: the labels that reach their thresholds. No TensorFlow."""

import numpy as np

from tf_adapt.data.formats import Record
from tf_adapt.serving.by_kind.classification import Answer, Outputs
from tf_adapt.serving.prediction.prediction import Prediction
from tf_adapt.tasks.task import Task
from tf_adapt.tasks.thresholds import chosen


def predictions(task: Task, records: list[Record], answer: Answer) -> list[Prediction]:
    """The chosen labels of each example, with the probability of each label."""
    probabilities = answer["probabilities"]
    return [
        Prediction(
            tuple(label for label, is_it in zip(task.labels, row, strict=True) if is_it),
            tuple(map(float, scores)),
        )
        for row, scores in zip(chosen(probabilities, task.thresholds), probabilities, strict=True)
    ]


def served(task: Task, records: list[Record], outputs: Outputs) -> Answer:
    """The answer of an export."""
    scores = outputs["scores"]
    expected = np.where(chosen(scores, task.thresholds), np.array(task.labels, object), "")
    if outputs["labels"].tolist() != expected.tolist():
        raise ValueError("labels: expected those whose score reaches their threshold, got others")
    return {"probabilities": scores}
