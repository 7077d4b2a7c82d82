"""A linear head for pairs on the encoder's vectors of the two texts."""

import keras
import tensorflow as tf

from tf_adapt.heads.linear import output_layer
from tf_adapt.heads.reads import POOLED, Reads

FEATURES = ("skip_thoughts", "infersent")


@keras.saving.register_keras_serializable("tf_adapt")
class SentencePairHead(keras.layers.Layer):
    """`W dropout(f(u, v)) + b` on the encoder's `pooled` vectors u and v of two texts.

    f is `[|u − v|; u ⊙ v]` (Skip-thoughts, for SICK and MRPC), or `[u; v; |u − v|; u ⊙ v]`
    (InferSent). Skip-thoughts predicts SICK's scores as a distribution over 1 to 5; here a
    regression has one linear output, as all heads have.

    Shapes: encoded, a list of two encoder outputs (`pooled`: `[batch, width]`) → logits
    `[batch, num_outputs] float32`, or `[batch] float32` for regression.

    Args:
        num_outputs: number of labels; 1 for regression.
        features: "skip_thoughts" or "infersent".
        dropout: dropout rate of the features; 0.1 as of `LinearHead`.
        regression: return one number per example instead of a row.

    Raises:
        ValueError: unknown features, or several outputs for regression.

    Source: Kiros et al. 2015, sections 3.1 and 3.2; Conneau et al. 2017, figure 1.
    """

    def __init__(
        self,
        num_outputs: int,
        features: str = "skip_thoughts",
        dropout: float = 0.1,
        regression: bool = False,
        **kwargs,
    ):
        super().__init__(**kwargs)
        if features not in FEATURES:
            raise ValueError(f"features: expected one of {', '.join(FEATURES)}, got {features!r}")
        if regression and num_outputs != 1:
            raise ValueError(f"num_outputs: expected 1 for regression, got {num_outputs}")
        self.num_outputs = num_outputs
        self.features = features
        self.dropout = dropout
        self.regression = regression
        self.dropout_layer = keras.layers.Dropout(dropout, dtype=self.dtype_policy)
        self.dense = output_layer(num_outputs)

    def build(self, encoded_shape, inputs_shape=None):
        text = encoded_shape[0] if isinstance(encoded_shape, list) else encoded_shape
        vectors = 2 if self.features == "skip_thoughts" else 4
        self.dense.build((None, vectors * text["pooled"][-1]))

    @property
    def output_shape(self) -> tuple:
        """Shape of the logits, for `model.summary()`."""
        return (None,) if self.regression else (None, self.num_outputs)

    def call(self, encoded, inputs=None, training=None):
        u, v = (text["pooled"] for text in encoded)
        vectors = [] if self.features == "skip_thoughts" else [u, v]
        features = tf.concat([*vectors, tf.abs(u - v), u * v], axis=-1)
        logits = self.dense(self.dropout_layer(features, training=training))
        return logits[:, 0] if self.regression else logits

    @property
    def reads(self) -> Reads:
        """What has to be kept of a frozen encoder for this head."""
        return POOLED

    def get_config(self) -> dict:
        return super().get_config() | {
            "num_outputs": self.num_outputs,
            "features": self.features,
            "dropout": self.dropout,
            "regression": self.regression,
        }
