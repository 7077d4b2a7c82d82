"""The next reply of a dialogue."""

import tensorflow as tf

from tf_adapt.data.packing.dialog import OTHERS, PROMPT, REPLIES
from tf_adapt.encoder.hub_encoder import HubEncoder
from tf_adapt.errors import ConfigError
from tf_adapt.tasks.task import Task


def check_encoder(encoder: HubEncoder) -> None:
    """Refuses every encoder: the model is another one.

    Raises:
        ConfigError: always.
    """
    raise ConfigError(
        "task: a model of dialogues has two losses of its own; expected tf_adapt.models.dialog."
        "dialog_model.build_dialog_model, or a config with kind: dialog"
    )


def inputs(encoder: HubEncoder) -> dict:
    """Model inputs for one exchange with two candidates of one token."""
    prompt = dict.fromkeys(PROMPT, tf.ones([1, 2], tf.int32))
    replies = {REPLIES: tf.zeros([1, 2, 1], tf.int32), OTHERS: tf.zeros([1, 1, 1], tf.int32)}
    return {"a": prompt | replies}


def targets(task: Task) -> tf.Tensor:
    """The targets of one exchange: the number of words of the reply, which is in the inputs."""
    return tf.ones([1], "int32")
