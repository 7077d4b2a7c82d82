"""A text that is written about another one."""

import tensorflow as tf

from tf_adapt.data.packing.text_generation import TARGET_IDS, TARGET_MASK
from tf_adapt.encoder.hub_encoder import HubEncoder
from tf_adapt.errors import ConfigError
from tf_adapt.models.by_kind import classification
from tf_adapt.tasks.task import Task


def check_encoder(encoder: HubEncoder) -> None:
    """Refuses every encoder: the model is another one.

    Raises:
        ConfigError: always.
    """
    raise ConfigError(
        "task: text_generation needs a decoder beside the encoder; expected tf_adapt.models."
        "text_generation.encoder_decoder_model.build_encoder_decoder, or a config with kind: "
        "text_generation"
    )


def inputs(encoder: HubEncoder) -> dict:
    """Model inputs for a source of one word and a target of one token."""
    source = classification.text_inputs(encoder)["a"]
    ids = tf.zeros([1, 3], tf.int32)
    return {"a": source | {TARGET_IDS: ids, TARGET_MASK: tf.ones_like(ids)}}


def targets(task: Task) -> tf.Tensor:
    """The targets of one example: the number of words of the text, which is in the inputs."""
    return tf.ones([1], "int32")
