"""The answers of classifiers, of texts and of pairs: a label and the probability of each.

Imports no TensorFlow.
"""

from collections.abc import Iterable, Mapping

import numpy as np

from tf_adapt.data.formats import Record
from tf_adapt.serving.prediction.prediction import Prediction
from tf_adapt.statistics.scores import item_statistics, score_of
from tf_adapt.tasks.kinds import metrics_of
from tf_adapt.tasks.task import Task

# The arrays of `batch_predictions`.
Answer = dict[str, np.ndarray]
# Of a signature: a value a row for each input; the arrays of its outputs, texts as `str`.
Columns = dict[str, list]
Outputs = dict[str, np.ndarray]
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


def columns(records: list[Record], names: Mapping[str, str]) -> Columns:
    """The inputs of a signature of texts, for the texts of examples."""
    return {name: [getattr(record, text) for record in records] for name, text in names.items()}


def served(task: Task, records: list[Record], outputs: Outputs) -> Answer:
    """The answer of an export."""
    return {"label": ids_of_names(task, outputs["label"]), "probabilities": outputs["scores"]}


def ids_of_names(task: Task, labels: Iterable[str]) -> np.ndarray:
    """The ids of labels' names."""
    ids = {label: number for number, label in enumerate(task.labels)}
    return np.array([ids[label] for label in labels])


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
