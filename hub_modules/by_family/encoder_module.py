"""A native encoder as a SavedModel in TF Hub's contract."""

from pathlib import Path

import tensorflow as tf


def save_module(module, folder: Path, signatures: dict | None = None) -> None:
    """Writes a SavedModel.

    Raises:
        OSError: TensorFlow cannot write it; `publish_folder` adds the target folder to the message.
    """
    try:
        tf.saved_model.save(module, str(folder), signatures=signatures)
    except tf.errors.OpError as error:
        raise OSError(error.message) from error


class EncoderModule(tf.__internal__.tracking.AutoTrackable):
    """A native encoder's weights as plain variables, named as in `weights_by_name`.

    Not a `tf.Module`: TF Hub's contract requires `variables` and `trainable_variables` as saved
    attributes, and those of a `tf.Module` are properties, which are not saved.

    Programs are traced without AutoGraph, which would translate our code and Keras' for nothing.
    """

    def __init__(self, encoder, stored_as: str = "float32"):
        self._call = encoder.stateless_call
        named = encoder.weights_by_name()
        by_weight = {
            id(weight): tf.Variable(weight.numpy().astype(stored_as), name=name)
            for name, weight in named.items()
        }
        # In the order of the arguments of `stateless_call`.
        self.encoder_variables = [by_weight[id(weight)] for weight in encoder.trainable_variables]
        self.variables = list(self.encoder_variables)
        self.trainable_variables = list(self.encoder_variables)
        self.regularization_losses = []
        self._num_seeds = len(encoder.non_trainable_variables)

    def encode(self, inputs: dict, training: bool) -> dict:
        values = [tf.cast(variable, tf.float32) for variable in self.encoder_variables]
        # Dropout's seeds are drawn at run time, so that the module needs no state of its own. The
        # draws are seeded: unseeded ones fail under `enable_op_determinism`.
        seeds = [
            tf.cast(tf.random.uniform([2], 0, 2**31 - 1, tf.int32, seed=number), tf.uint32)
            for number in range(1, self._num_seeds + 1)
        ]
        outputs, _ = self._call(values, seeds, inputs, training=training)
        return outputs
