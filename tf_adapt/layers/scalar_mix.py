"""A trainable weighted average of an encoder's layers."""

from collections.abc import Sequence

import keras
import numpy as np
import tensorflow as tf

from hub_modules.native.arguments import ArgumentsInConfig

# Under the square root of the layer norm.
EPSILON = 1e-13


@keras.saving.register_keras_serializable("tf_adapt")
class ScalarMix(ArgumentsInConfig, keras.layers.Layer):
    """`γ · Σₖ softmax(w)ₖ · hₖ`: a weight for each of an encoder's layers, and a scale.

    With `layer_norm` each layer is first normalised, `(hₖ − mean) / √(variance + 1e-13)`, with
    *one* mean and variance over all unmasked positions and features of the batch, so that a
    sentence's result depends on its batch (under a distribution strategy: on its device's part).

    Several mixes can share the outputs of one encoder; each has its own weights.

    Shapes: layers, a list of hidden states `[batch, time, width]`, mask `[batch, time] bool` →
    `[batch, time, width]` in the compute dtype.

    Masking: the layer norm ignores padding; outputs there are undefined.

    Args:
        layer_norm: normalise the layers, which may differ much in scale.
        dropout: dropout rate of the mixed states.
        l2: weight of the penalty `l2 · Σ w²`, which pulls the average towards equal weights.

    Attributes:
        scalars: w, `[layers] float32`; initially 0, which is the plain mean.
        gamma: γ, a scalar; initially 1.
        layer_weights: softmax(w) as an array, bottom layer first.

    Source: Peters et al. 2018, equation 1; its section 3.2 (layer norm, penalty).
    """

    def __init__(self, layer_norm: bool = False, dropout: float = 0.0, l2: float = 0.0, **kwargs):
        super().__init__(**kwargs)
        self.layer_norm = layer_norm
        self.dropout = dropout
        self.l2 = l2
        self.dropout_layer = keras.layers.Dropout(dropout, dtype=self.dtype_policy)

    def build(self, layers_shape, mask_shape=None):
        self.scalars = self.add_weight(
            name="scalars",
            shape=(len(layers_shape),),
            initializer="zeros",
            regularizer=keras.regularizers.L2(self.l2) if self.l2 else None,
            autocast=False,
        )
        self.gamma = self.add_weight(name="gamma", shape=(), initializer="ones", autocast=False)

    def start_from(self, scalars: Sequence[float], gamma: float) -> None:
        """Sets w, one number a layer, and γ, as an ELMo module has learned them."""
        self.scalars.assign(np.asarray(scalars, np.float32))
        self.gamma.assign(gamma)

    @property
    def layer_weights(self) -> np.ndarray:
        """The weight of each layer in the mix: `[layers]`, with sum 1."""
        return tf.nn.softmax(tf.convert_to_tensor(self.scalars)).numpy()

    def call(self, layers, mask, training=None):
        if len(layers) != self.scalars.shape[0]:
            raise ValueError(
                f"layers: expected {self.scalars.shape[0]}, as many as at first, got {len(layers)}"
            )
        if self.layer_norm:
            layers = [_normalised(layer, mask) for layer in layers]
        weights = self.gamma * tf.nn.softmax(tf.convert_to_tensor(self.scalars))
        weights = tf.unstack(tf.cast(weights, self.compute_dtype))
        mixed = tf.add_n(
            [
                weight * tf.cast(layer, self.compute_dtype)
                for weight, layer in zip(weights, layers, strict=True)
            ]
        )
        return self.dropout_layer(mixed, training=training)


def _normalised(states, mask):
    """`(states − mean) / √(variance + EPSILON)` over real positions and features, 0 at padding."""
    states = tf.cast(states, tf.float32)
    real = tf.cast(mask, tf.bool)[..., None]
    count = tf.cast(tf.math.count_nonzero(real) * tf.shape(states, tf.int64)[-1], tf.float32)
    count = tf.maximum(count, 1.0)
    mean = tf.reduce_sum(tf.where(real, states, 0.0)) / count
    centred = tf.where(real, states - mean, 0.0)
    variance = tf.reduce_sum(tf.square(centred)) / count
    return centred / tf.sqrt(variance + EPSILON)
