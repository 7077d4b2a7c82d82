"""The answers of regressions, of texts and of pairs: a number."""

from collections.abc import Callable, Mapping

from tf_adapt.data.formats import Record
from tf_adapt.serving.by_kind.classification import Answer, outputs
from tf_adapt.serving.prediction.answers import Prediction
from tf_adapt.tasks.task import Task


def predictions(task: Task, records: list[Record], answer: Answer) -> list[Prediction]:
    """The number of each example."""
    return [Prediction(float(score), ()) for score in answer["score"]]


def served(task: Task, serve: Callable, records: list, names: Mapping[str, str]) -> Answer:
    """The answer of an export."""
    return {"score": outputs(serve, records, names)["score"].numpy()}


def named(answer: dict, task: Task, labels: None, texts: dict) -> dict:
    """The outputs of a signature: the numbers."""
    return answer
