"""The answers to questions: a part of the context."""

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from tf_adapt.data.formats import Record
from tf_adapt.serving.by_kind.classification import Answer, outputs
from tf_adapt.serving.exports.answer_graph import answers_in_graph
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
    answer = outputs(serve, records, {"question": "text_a", "context": "text_b"})
    return {name: answer[name].numpy() for name in ("answer", "score", "start", "end")}


def served_predictions(task: Task, records: list[Record], answer: Answer) -> list[Prediction]:
    """The predictions of an export: the best answer to each question alone."""
    answers = [
        FoundAnswer(text.decode("utf-8"), float(score), int(start), int(end))
        for text, score, start, end in zip(
            answer["answer"], answer["score"], answer["start"], answer["end"], strict=True
        )
    ]
    return [Prediction(answer.text, (answer.score,), (answer,)) for answer in answers]


def of_question(answer: Callable) -> Callable:
    """A signature of a question and its context."""
    return lambda question, context: answer({"question": question, "context": context})


def predicted(model: Any, texts: list[tf.Tensor]) -> dict:
    """The best answer to each question of a model (`ModelFromText`): see `answers_in_graph`."""
    limits = model.task.spans, model.limits.tokens, model.limits.may_cut

    def answered(inputs: dict) -> dict:
        return model.answered({"inputs": inputs}, texts)

    return answers_in_graph(*texts, model.preprocessor, *limits, answered)


def named(answer: dict, task: Task, labels: None, texts: dict) -> dict:
    """The outputs of a signature: answers with scores and offsets."""
    return answer


def no_parts(*functions: Any) -> dict:
    """No parts for other engines: windows are read in a loop in the graph."""
    return {}
