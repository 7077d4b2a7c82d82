"""The answers of multilabel classifiers: the labels that reach their thresholds."""

from collections.abc import Callable, Mapping

import numpy as np
import tensorflow as tf

from tf_adapt.data.formats import Record
from tf_adapt.serving.by_kind.classification import Answer, outputs
from tf_adapt.serving.prediction.answers import Prediction
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


def served(task: Task, serve: Callable, records: list, names: Mapping[str, str]) -> Answer:
    """The answer of an export."""
    answer = outputs(serve, records, names)
    scores = answer["scores"].numpy()
    expected = np.where(chosen(scores, task.thresholds), np.array(task.labels, object), "")
    labels = answer["labels"].numpy()
    if [[label.decode("utf-8") for label in row] for row in labels] != expected.tolist():
        raise ValueError("labels: expected those whose score reaches their threshold, got others")
    return {"probabilities": scores}


def named(answer: dict, task: Task, labels: tf.Tensor, texts: dict) -> dict:
    """The outputs of a signature: the names of chosen labels, "" for others; probabilities."""
    scores = answer["probabilities"]
    return {"labels": tf.where(chosen(scores, task.thresholds), labels, ""), "scores": scores}
