"""Distillation from the source model, which keeps a fine-tuned encoder close to it."""

import keras
import tensorflow as tf
from keras import ops

from hub_modules.load import load_output_layer
from hub_modules.native.untracked import Untracked
from tf_adapt.encoder.hub_encoder import HubEncoder
from tf_adapt.models.language_losses import at_places, word_embeddings
from tf_adapt.models.language_objectives import OBJECTIVES


def distillation_objective(encoder: HubEncoder) -> "Distillation":
    """Distillation from the module that an encoder was loaded from.

    On the probabilities of the output layer that the module was pretrained with if it has one and
    runs natively; else on the top layer's hidden states.

    Raises:
        ArtifactError: the module is damaged.
    """
    frozen = {"name": "source", "trainable": False, "trainable_groups": [], "added": None}
    source = HubEncoder.from_config(encoder.get_config() | frozen)
    loaded = None
    if encoder.execution == "native":
        loaded = load_output_layer(
            encoder.handle,
            source.native,
            fitted=False,
            name="output_layer",
            dtype=encoder.dtype_policy,
        )
    output = None if loaded is None else loaded[0]
    return Distillation(source, output, name="distillation", dtype=encoder.dtype_policy)


@keras.saving.register_keras_serializable("tf_adapt")
class Distillation(keras.layers.Layer):
    """Distance of an encoder's outputs from those of a frozen source model, on unmasked text.

    With an output layer: the cross-entropy `−Σ_k p_k log q_k` per word piece, for ELMo per word and
    direction, where p are the probabilities from the source's hidden states and q those from the
    encoder's. Both use the same fixed output layer, BERT's with the source's word embeddings.
    Without: the squared difference of the top layers' hidden states, averaged over the width. The
    gradient is zero as long as the encoder equals the source (without dropout).

    The source is not part of the model: it is frozen, is not saved, and is loaded from its module.

    Shapes: the encoder's inputs → `[batch, time]`, ELMo with an output layer `[batch, time, 2]`,
    float32, −1 at padding.

    Args:
        source: the source model; it is frozen here.
        output: its output layer, or None.

    References: Hinton, Vinyals, Dean 2015; Li and Hoiem 2016, "Learning without Forgetting".
    """

    def __init__(self, source: HubEncoder, output: keras.layers.Layer | None = None, **kwargs):
        super().__init__(**kwargs)
        self.supports_jit = False
        source.trainable = False
        self._fixed = Untracked((source, output))
        self.built = True

    @property
    def source(self) -> HubEncoder:
        """The frozen source model."""
        return self._fixed.value[0]

    @property
    def output_layer(self) -> keras.layers.Layer | None:
        """The output layer, or None."""
        return self._fixed.value[1]

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
        if not OBJECTIVES[self.source.family].is_tied:
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
        """The layer of `get_config`; the output layer's weights are read from the source module."""
        source = keras.saving.deserialize_keras_object(config["source"])
        output = keras.saving.deserialize_keras_object(config["output"])
        if output is not None:
            output = load_output_layer(source.handle, source.encoder, dtype=source.dtype_policy)[0]
        return cls(**config | {"source": source, "output": output})
