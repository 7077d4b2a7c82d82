"""Any number of labels for each text."""

from collections.abc import Callable

import tensorflow as tf

from tf_adapt.tasks.task import Task


def targets(task: Task) -> tf.Tensor:
    """The target of one example."""
    return tf.zeros([1, task.num_outputs], "float32")


def predictions(model, outputs, inputs: dict) -> dict:
    """`probabilities`: see `AdaptedModel.predictions`."""
    return {"probabilities": tf.sigmoid(outputs / (model.task.temperature or 1.0))}


def choice_weights(weights, targets, decodes: bool):
    """The weight of each choice of an example: with the label, or without.

    Shapes: weights `[labels, 2]`, targets `[batch, labels]` 0 or 1 → `[batch, labels]`.
    """
    return tf.where(tf.cast(targets, tf.bool), weights[:, 1], weights[:, 0])


def combined(mean: Callable, votes: bool, labels: int) -> dict:
    """The mean of the probabilities: see `Combination`."""
    return {"probabilities": mean(lambda answer: answer["probabilities"])}
