"""A head for pairs whose only trainable weights are those of its last layer (and of a mix)."""

import keras
import tensorflow as tf

from tf_adapt.heads.head_layer import HeadLayer
from tf_adapt.heads.linear import output_layer
from tf_adapt.layers.pooling import POOLINGS
from tf_adapt.layers.soft_alignment import enhanced, soft_alignment
from tf_adapt.layers.texts import input_states, text_states


@keras.saving.register_keras_serializable("tf_adapt")
class BiAttentionHead(HeadLayer):
    """ESIM's alignment and pooling directly on the encoder's hidden states, then one dense layer.

    With ã the attention of a's words to b (dot products, softmax) and b̃ that of b's words to a,
    m = [a; ã; a − ã; a ⊙ ã] and n likewise for b:
    `W dropout([mean m; max m; mean n; max n]) + b`.

    Shapes: encoded, a list of two encoder outputs (texts encoded separately) or of one (BERT, a
    pair in one row, with its inputs; `[CLS]` and `[SEP]` are left out: see `text_states`) → logits
    `[batch, num_outputs] float32`, or `[batch] float32` for regression.

    Masking: padding is neither attended to nor pooled.

    Args:
        num_outputs: number of labels; 1 for regression.
        mixed: use a `ScalarMix` of all layers instead of the top layer.
        dropout: dropout rate of the pooled features.
        regression: return one number per example instead of a row.
        pooling: "first", "last", "mean" or "max" of m and n, in place of the published
            combination (None).

    Source: Peters, Ruder, Smith 2019, section 3 (fine-tuning ELMo on pairs) and table 3.
    """

    def __init__(
        self,
        num_outputs: int,
        mixed: bool = False,
        dropout: float = 0.1,
        regression: bool = False,
        pooling: str | None = None,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.reads(num_outputs, mixed, regression, pooling)
        self.dropout = dropout
        self._pools = ("mean", "max") if pooling is None else (pooling,)
        self.dropout_layer = keras.layers.Dropout(dropout, dtype=self.dtype_policy)
        self.dense = output_layer(num_outputs)

    def build(self, encoded_shape, inputs_shape=None):
        text = self.built_mix(encoded_shape)
        self.dense.build((None, 2 * len(self._pools) * 4 * text["layers"][-1][-1]))

    def call(self, encoded, inputs=None, training=None):
        states = input_states(encoded, self.mix, training)
        (a, mask_a), (b, mask_b) = text_states(states, encoded, inputs)
        aligned_a, aligned_b = soft_alignment(a, b, mask_a, mask_b)
        pooled = []
        for states, aligned, mask in ((a, aligned_a, mask_a), (b, aligned_b, mask_b)):
            matched = enhanced(states, aligned)
            pooled += [POOLINGS[name](matched, mask) for name in self._pools]
        features = self.dropout_layer(tf.concat(pooled, axis=-1), training=training)
        logits = self.dense(features)
        return logits[:, 0] if self.regression else logits
