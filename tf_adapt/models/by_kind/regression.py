"""A number for each text or pair."""

from collections.abc import Callable

import tensorflow as tf
from keras import ops

from tf_adapt.tasks.task import Task


def targets(task: Task) -> tf.Tensor:
    """The target of one example."""
    return tf.zeros([1], "float32")


def predictions(model, outputs, inputs: dict) -> dict:
    """`score`: see `AdaptedModel.predictions`."""
    return {"score": outputs}


def combined(mean: Callable, votes: bool, labels: int) -> dict:
    """The mean of the scores: see `Combination`."""
    return {"score": mean(lambda answer: answer["score"])}


def soft_losses(task: Task, answers, outputs, temperature: float):
    """`(score_t − score_s)²` of each example: see `Teaching`."""
    return ops.square(ops.reshape(outputs, ops.shape(answers)) - answers)
