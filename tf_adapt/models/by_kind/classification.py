"""One label of several for each text or pair."""

from collections.abc import Callable

import tensorflow as tf
from keras import ops

from tf_adapt.encoder.hub_encoder import HubEncoder
from tf_adapt.tasks.keras_kinds import KINDS
from tf_adapt.tasks.task import Task

# Shares of votes that differ by less are equal: they are sums of rounded numbers.
TIED = 1e-6


def text_inputs(encoder: HubEncoder) -> dict:
    """Model inputs for one text of one word."""
    return {"a": encoder.preprocessor.pack([_word(encoder)])}


def pair_inputs(encoder: HubEncoder) -> dict:
    """Model inputs for one pair of texts of one word."""
    units, pack = _word(encoder), encoder.preprocessor.pack
    if encoder.joint_pairs:
        return {"a": pack([units, units])}
    return {"a": pack([units]), "b": pack([units])}


def targets(task: Task) -> tf.Tensor:
    """The target of one example."""
    return tf.zeros([1], "int32")


def predictions(model, outputs, inputs: dict) -> dict:
    """`label` and `probabilities`: see `AdaptedModel.predictions`."""
    return {
        "label": _largest(outputs),
        "probabilities": tf.nn.softmax(outputs / (model.task.temperature or 1.0)),
    }


def combined(mean: Callable, votes: bool, labels: int) -> dict:
    """The mean of the probabilities, or the shares of the votes: see `Combination`.

    Args:
        mean: of what a function gives of each model's answer, weighted.
    """
    probabilities = mean(lambda answer: answer["probabilities"])
    if not votes:
        return {"label": _largest(probabilities), "probabilities": probabilities}
    shares = mean(lambda answer: tf.one_hot(answer["label"], labels))
    most = shares >= tf.reduce_max(shares, axis=-1, keepdims=True) - TIED
    return {"label": _largest(tf.where(most, probabilities, -1.0)), "probabilities": shares}


def soft_losses(task: Task, answers, outputs, temperature: float):
    """`T² · KL(softmax(z_t / T) ‖ softmax(z_s / T))` of each example or word: see `Teaching`."""
    row = KINDS[task.kind]
    wanted = ops.log_softmax(row.outcomes(answers) / temperature)
    given = ops.log_softmax(row.outcomes(outputs) / temperature)
    losses = temperature**2 * ops.sum(ops.exp(wanted) * (wanted - given), axis=-1)
    return row.of_choices(losses)


def label_weights(weights, targets, decodes: bool):
    """The weight of each example: that of its label.

    Shapes: weights `[labels]`, targets `[batch] int` → `[batch]`.
    """
    return tf.gather(weights, tf.reshape(tf.cast(targets, tf.int32), [-1]))


def all_real(losses, targets):
    """Which losses are of real examples: all."""
    return ops.ones_like(losses, dtype="bool")


def _word(encoder: HubEncoder) -> tf.RaggedTensor:
    return encoder.preprocessor.tokenize(tf.constant(["a"]))


def _largest(values: tf.Tensor) -> tf.Tensor:
    return tf.argmax(values, axis=-1, output_type=tf.int32)
