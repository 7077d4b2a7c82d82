"""The answers of classifiers, of texts and of pairs: a label and the probability of each."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import tensorflow as tf

from hub_modules.preprocess import tokenized, truncate
from tf_adapt.data.formats import Record
from tf_adapt.data.packing.prepared import Limits
from tf_adapt.serving.exports.length_check import length_check
from tf_adapt.serving.prediction.answers import Prediction
from tf_adapt.statistics.scores import item_statistics, score_of
from tf_adapt.tasks.kinds import metrics_of
from tf_adapt.tasks.task import Task

# The arrays of `batch_predictions`.
Answer = dict[str, np.ndarray]
# Name of an input of a signature → that of a record's text.
TEXT: Mapping[str, str] = {"text": "text_a"}
PAIR: Mapping[str, str] = {"text_a": "text_a", "text_b": "text_b"}


def of_rows(values: np.ndarray, inputs: dict) -> np.ndarray:
    """The rows of a batch."""
    return values


def predictions(task: Task, records: list[Record], answer: Answer) -> list[Prediction]:
    """The label of each example, with the probability of each label."""
    return [
        Prediction(task.labels[label], tuple(map(float, row)))
        for label, row in zip(answer["label"], answer["probabilities"], strict=True)
    ]


def served(task: Task, serve: Callable, records: list, names: Mapping[str, str]) -> Answer:
    """The answer of an export."""
    answer = outputs(serve, records, names)
    return {
        "label": ids_of_names(task, answer["label"]),
        "probabilities": answer["scores"].numpy(),
    }


def outputs(serve: Callable, records: list, names: Mapping[str, str]) -> dict[str, tf.Tensor]:
    """The outputs of a signature of texts for the texts of examples."""
    columns = {
        name: tf.constant([getattr(record, text) for record in records])
        for name, text in names.items()
    }
    return serve(**columns)


def ids_of_names(task: Task, labels: tf.Tensor) -> np.ndarray:
    """The ids of labels' names."""
    ids = {label: number for number, label in enumerate(task.labels)}
    return np.array([ids[label.decode("utf-8")] for label in labels.numpy()])


def label_scores(
    task: Task, records: list[Record], predictions: list[Prediction]
) -> dict[str, float]:
    """The metrics of the kind, as those of the same names in Keras, of predicted labels."""
    predicted = [prediction.label for prediction in predictions]
    gold = [record.label for record in records]
    return {
        metric: float(
            score_of(metric, item_statistics(metric, predicted, gold, task.labels).sum(0))
        )
        for metric in metrics_of(task.kind)
    }


def of_text(answer: Callable) -> Callable:
    """A signature of one text."""
    return lambda text: answer({"text": text})


def of_pair(answer: Callable) -> Callable:
    """A signature of two texts."""
    return lambda text_a, text_b: answer({"text_a": text_a, "text_b": text_b})


def columns(texts: dict) -> list[tf.Tensor]:
    """The checked inputs of a signature as a model reads them."""
    return list(texts.values())


def packed(texts: list[tf.Tensor], preprocessor: Any, joint: bool, limits: Limits) -> dict:
    """The `inputs` of a model for texts that are read together (`joint`) or each by itself."""
    segments = tokenized(preprocessor, texts)
    groups = [segments] if joint else [[segment] for segment in segments]
    inputs = {
        name: preprocessor.pack(_fitted(group, preprocessor, limits))
        for name, group in zip("ab", groups, strict=False)
    }
    return {"inputs": inputs}


def _fitted(segments: list, preprocessor: Any, limits: Limits) -> list:
    limit = limits.tokens - preprocessor.special_tokens(len(segments))
    if limits.may_cut:
        return truncate(segments, limit)[0]
    lengths = sum(segment.row_lengths() for segment in segments)
    with tf.control_dependencies(length_check(lengths, limit, "an input")):
        return [tf.identity(segment) for segment in segments]


def predicted(model: Any, texts: Any) -> dict:
    """The predictions of a model (`ModelFromText`) for texts."""
    return model.predict(texts)


def of_rows_of_texts(answers: dict, packed: dict, texts: Any) -> dict:
    """The answers to texts, of which each is one row."""
    return answers


def combined(combination: Callable, answers: list[dict], texts: Any) -> dict:
    """One answer from those of several models."""
    return combination(answers)


def named(answer: dict, task: Task, labels: tf.Tensor, texts: dict) -> dict:
    """The outputs of a signature: the name of the label, the probability of each."""
    return {"label": tf.gather(labels, answer["label"]), "scores": answer["probabilities"]}
