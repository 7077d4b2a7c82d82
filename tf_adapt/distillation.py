"""Staying close to the source model: what it says of the same text is the target."""

from dataclasses import dataclass

import keras
import tensorflow as tf
from keras import ops

from hub_modules.load import load_output_layer
from tf_adapt.encoder import HubEncoder
from tf_adapt.language_modeling import at_places, word_embeddings


def distillation_objective(encoder: HubEncoder) -> "Distillation":
    """Distillation from the module that an encoder comes from.

    Through the module's output layer where it has one and runs natively; else of the top layer's
    states.

    Raises:
        ArtifactError: the module is damaged.
    """
    frozen = {"name": "source", "trainable": False, "trainable_groups": [], "adapters": None}
    source = HubEncoder.from_config(encoder.get_config() | frozen)
    found = None
    if encoder.execution == "native":
        found = load_output_layer(
            encoder.handle, source.encoder, name="output_layer", dtype=encoder.dtype_policy
        )
    output = None if found is None else found[0]
    return Distillation(source, output, name="distillation", dtype=encoder.dtype_policy)


@dataclass(frozen=True)
class _Fixed:
    """Keeps layers out of Keras' tracking, which looks into lists, tuples and dicts."""

    source: HubEncoder
    output_layer: keras.layers.Layer | None


@keras.saving.register_keras_serializable("tf_adapt")
class Distillation(keras.layers.Layer):
    """How far an encoder has come from a frozen source model, on the text as it is.

    With an output layer: the cross-entropy `−Σ_k p_k log q_k` between what it makes of the source's
    states (p) and of the encoder's (q), over all pieces, or for each direction of an ELMo over all
    words. Both go through the same fixed output layer, BERT's with the source's word embeddings.
    Without: the mean over the width of the squared difference of the top layers' states. Either way
    there is no gradient while the encoder is still the source (and nothing is dropped).

    The source is no part of the model: it does not learn, is not saved, and is loaded again from
    its module.

    Shapes: the encoder's inputs → `[batch, time]`, ELMo with an output layer `[batch, time, 2]`,
    float32, −1 at padding.

    Args:
        source: the frozen source model.
        output: its output layer, or None.

    References: Hinton, Vinyals, Dean 2015; Li and Hoiem 2016, "Learning without Forgetting".
    """

    def __init__(self, source: HubEncoder, output: keras.layers.Layer | None = None, **kwargs):
        super().__init__(**kwargs)
        self.supports_jit = False
        source.trainable = False
        self._fixed = _Fixed(source, output)
        self.built = True

    @property
    def source(self) -> HubEncoder:
        """The frozen source model."""
        return self._fixed.source

    @property
    def output_layer(self) -> keras.layers.Layer | None:
        """The output layer, or None."""
        return self._fixed.output_layer

    def call(self, inputs, encoder=None, encoded=None, training=None):
        if encoded is None:
            encoded = encoder(inputs, training=training)
        places = tf.where(encoded["mask"])
        student = tf.gather_nd(encoded["layers"][-1], places)
        teacher = tf.gather_nd(self.source(inputs, training=False)["layers"][-1], places)
        if self.output_layer is None:
            difference = ops.cast(student, "float32") - ops.cast(teacher, "float32")
            losses = ops.mean(ops.square(difference), axis=-1)
        else:
            wanted = tf.stop_gradient(ops.exp(self._log_probabilities(teacher)))
            losses = -ops.sum(wanted * self._log_probabilities(student), axis=-1)
        return at_places(losses, places, tf.shape(encoded["mask"]))

    def _log_probabilities(self, states):
        if self.source.family == "elmo":
            return self.output_layer(states)
        table = tf.stop_gradient(word_embeddings(self.source))
        return ops.log_softmax(self.output_layer(states, table))

    def get_config(self) -> dict:
        return super().get_config() | {
            "source": keras.saving.serialize_keras_object(self.source),
            "output": keras.saving.serialize_keras_object(self.output_layer),
        }

    @classmethod
    def from_config(cls, config: dict) -> "Distillation":
        """The layer of `get_config`, with the output layer's weights from the source's module."""
        source = keras.saving.deserialize_keras_object(config["source"])
        output = keras.saving.deserialize_keras_object(config["output"])
        if output is not None:
            output = load_output_layer(source.handle, source.encoder, dtype=source.dtype_policy)[0]
        return cls(**config | {"source": source, "output": output})
