"""Texts that are written about others. Imports no TensorFlow."""

from tf_adapt.data.formats import Record
from tf_adapt.serving.by_kind.classification import Answer, Outputs
from tf_adapt.serving.by_kind.written_texts import are_known, variety, written
from tf_adapt.serving.by_kind.written_texts import served as served_texts
from tf_adapt.serving.prediction.prediction import Prediction
from tf_adapt.tasks.by_kind.text_generation import overlaps
from tf_adapt.tasks.task import Task


def predictions(task: Task, records: list[Record], answer: Answer) -> list[Prediction]:
    """The text about each source, with `log p` of the right one."""
    return written(answer["text"], *([-answer["loss"]] if are_known(answer) else []))


def served(task: Task, records: list, outputs: Outputs) -> Answer:
    """The answer of an export."""
    return {"text": served_texts(outputs["text"])}


def text_scores(
    task: Task, records: list[Record], predictions: list[Prediction]
) -> dict[str, float]:
    """ROUGE and BLEU of the texts, and how varied they are."""
    texts = [prediction.label for prediction in predictions]
    references = [record.label for record in records]
    return {**overlaps(texts, references), **variety(texts, "equal_texts")}
