"""The answers of regressions, of texts and of pairs: a number. Imports no TensorFlow."""

from tf_adapt.data.formats import Record
from tf_adapt.serving.by_kind.classification import Answer, Outputs
from tf_adapt.serving.prediction.prediction import Prediction
from tf_adapt.tasks.task import Task


def predictions(task: Task, records: list[Record], answer: Answer) -> list[Prediction]:
    """The number of each example."""
    return [Prediction(float(score), ()) for score in answer["score"]]


def served(task: Task, records: list[Record], outputs: Outputs) -> Answer:
    """The answer of an export."""
    return {"score": outputs["score"]}
