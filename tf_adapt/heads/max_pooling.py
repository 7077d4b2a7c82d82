"""The simplest head on states that the encoder has not pooled: their maximum, a dense layer."""

import keras
import tensorflow as tf

from tf_adapt.heads.linear import output_layer
from tf_adapt.layers.pooling import masked_max
from tf_adapt.layers.scalar_mix import ScalarMix
from tf_adapt.layers.texts import read_states, text_states


@keras.saving.register_keras_serializable("tf_adapt")
class MaxPoolingHead(keras.layers.Layer):
    """`W dropout(v) + b` on the largest value of each unit over the words of a text.

    Of two texts with the vectors u and v, `[u; v; |u − v|; u ⊙ v]`, or with `compared` off
    `[u; v]`, in which nothing relates one text to the other.

    Shapes: encoded, a list of one or two encoder outputs (`layers`: list of
    `[batch, time, width]`, `mask`: `[batch, time] bool`); the inputs, by which a pair that BERT
    has read as one row is taken apart (see `text_states`) → logits `[batch, num_outputs] float32`,
    or `[batch] float32` for regression.

    Masking: padding is never pooled; a text without a single real word has the vector 0.

    Args:
        num_outputs: number of labels; 1 for regression.
        pair: an example is two texts.
        compared: the features of a pair hold its difference and its product.
        mixed: read a `ScalarMix` of all layers instead of the top layer.
        dropout: share of the features dropped while training.
        regression: return one number per example instead of a row.

    Source: Peters, Ruder, Smith 2019, section 3, and table 3 (a pair that is not compared);
    Conneau et al. 2017, figure 1 (features of a pair).
    """

    def __init__(
        self,
        num_outputs: int,
        pair: bool = False,
        compared: bool = True,
        mixed: bool = False,
        dropout: float = 0.1,
        regression: bool = False,
        **kwargs,
    ):
        super().__init__(**kwargs)
        if regression and num_outputs != 1:
            raise ValueError(f"num_outputs: expected 1 for regression, got {num_outputs}")
        self.num_outputs = num_outputs
        self.pair = pair
        self.compared = compared
        self.mixed = mixed
        self.dropout = dropout
        self.regression = regression
        self.mix = ScalarMix(name="mix", dtype=self.dtype_policy) if mixed else None
        self.dropout_layer = keras.layers.Dropout(dropout, dtype=self.dtype_policy)
        self.dense = output_layer(num_outputs)

    def build(self, encoded_shape, inputs_shape=None):
        text = encoded_shape[0] if isinstance(encoded_shape, list) else encoded_shape
        if self.mix:
            self.mix.build(text["layers"])
        vectors = (4 if self.compared else 2) if self.pair else 1
        self.dense.build((None, vectors * text["layers"][-1][-1]))

    def call(self, encoded, inputs=None, training=None):
        texts = text_states(read_states(encoded, self.mix, training), encoded, inputs)
        vectors = [masked_max(states, mask) for states, mask in texts[: 1 + self.pair]]
        if self.pair and self.compared:
            u, v = vectors
            vectors += [tf.abs(u - v), u * v]
        features = self.dropout_layer(tf.concat(vectors, axis=-1), training=training)
        logits = self.dense(features)
        return logits[:, 0] if self.regression else logits

    def get_config(self) -> dict:
        return super().get_config() | {
            "num_outputs": self.num_outputs,
            "pair": self.pair,
            "compared": self.compared,
            "mixed": self.mixed,
            "dropout": self.dropout,
            "regression": self.regression,
        }
