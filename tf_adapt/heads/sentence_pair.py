"""A linear head for pairs on one vector of each of the two texts."""

import keras
import tensorflow as tf

from tf_adapt.heads.head_layer import VectorReader
from tf_adapt.heads.linear import output_layer
from tf_adapt.layers.texts import read_vectors

FEATURES = ("skip_thoughts", "infersent")


@keras.saving.register_keras_serializable("tf_adapt")
class SentencePairHead(VectorReader):
    """`W dropout(f(u, v)) + b` on the encoder's `pooled` vectors u and v of two texts.

    f is `[|u − v|; u ⊙ v]` (Skip-thoughts, for SICK and MRPC), or `[u; v; |u − v|; u ⊙ v]`
    (InferSent). Skip-thoughts predicts SICK's scores as a distribution over 1 to 5; here a
    regression has one linear output, as all heads have.

    With `pooling` u and v are the mean or maximum of the hidden states of each text's words, or its
    row's first or last state: see `row_vectors`. The hidden states are those of the top layer, or
    with `mixed` a `ScalarMix`.

    Shapes: encoded, a list of two encoder outputs (`pooled`: `[batch, width]`; with `pooling`
    `layers`: list of `[batch, time, width]`, `mask`: `[batch, time] bool`); the inputs, by which
    special tokens are left out → logits `[batch, num_outputs] float32`, or `[batch] float32` for
    regression.

    Masking: padding is not pooled; a text without a real position has the vector 0.

    Args:
        num_outputs: number of labels; 1 for regression.
        features: "skip_thoughts" or "infersent".
        dropout: dropout rate of the features; 0.1 as of `LinearHead`.
        regression: return one number per example instead of a row.
        pooling: None (the encoder's pooled vectors), "first", "last", "mean" or "max".
        mixed: with `pooling`, use a `ScalarMix` of all layers instead of the top layer.

    Raises:
        ValueError: unknown features or pooling, or several outputs for regression.

    Source: Kiros et al. 2015, sections 3.1 and 3.2; Conneau et al. 2017, figure 1.
    """

    def __init__(
        self,
        num_outputs: int,
        features: str = "skip_thoughts",
        dropout: float = 0.1,
        regression: bool = False,
        pooling: str | None = None,
        mixed: bool = False,
        **kwargs,
    ):
        super().__init__(**kwargs)
        if features not in FEATURES:
            raise ValueError(f"features: expected one of {', '.join(FEATURES)}, got {features!r}")
        self.reads(num_outputs, mixed, regression, pooling)
        self.features = features
        self.dropout = dropout
        self.dropout_layer = keras.layers.Dropout(dropout, dtype=self.dtype_policy)
        self.dense = output_layer(num_outputs)

    def build(self, encoded_shape, inputs_shape=None):
        vectors = 2 if self.features == "skip_thoughts" else 4
        self.dense.build((None, vectors * self.built_width(encoded_shape)))

    def call(self, encoded, inputs=None, training=None):
        u, v = read_vectors(encoded, inputs, self.pooling, self.mix, training=training)
        vectors = [] if self.features == "skip_thoughts" else [u, v]
        features = tf.concat([*vectors, tf.abs(u - v), u * v], axis=-1)
        logits = self.dense(self.dropout_layer(features, training=training))
        return logits[:, 0] if self.regression else logits
