"""The answers to questions: a part of the context."""

from collections.abc import Callable

from tf_adapt.data.formats import Record
from tf_adapt.serving.by_kind.classification import Answer, outputs
from tf_adapt.serving.prediction.answers import FoundAnswer, Prediction, answers_of_questions
from tf_adapt.tasks.task import Task


def predictions(task: Task, records: list[Record], answer: Answer) -> list[Prediction]:
    """The best answers to each question."""
    return [
        Prediction(answers[0].text, (answers[0].score,), answers)
        for answers in answers_of_questions(records, answer, task.spans)
    ]


def served(task: Task, serve: Callable, records: list[Record]) -> Answer:
    """The answer of an export."""
    found = outputs(serve, records, {"question": "text_a", "context": "text_b"})
    return {name: found[name].numpy() for name in ("answer", "score", "start", "end")}


def served_predictions(task: Task, records: list[Record], answer: Answer) -> list[Prediction]:
    """The predictions of an export: the best answer to each question alone."""
    found = [
        FoundAnswer(text.decode("utf-8"), float(score), int(start), int(end))
        for text, score, start, end in zip(
            answer["answer"], answer["score"], answer["start"], answer["end"], strict=True
        )
    ]
    return [Prediction(one.text, (one.score,), (one,)) for one in found]
