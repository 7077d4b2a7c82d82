"""Questions and contexts in the graph: the answers."""

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from tf_adapt.serving.exports.answer_graph import answers_in_graph
from tf_adapt.tasks.task import Task


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
