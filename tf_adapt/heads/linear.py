"""The simplest head for texts and pairs, on one vector of each row: one dense layer."""

import keras

from tf_adapt.heads.head_layer import VectorReader
from tf_adapt.layers.texts import read_vectors


@keras.saving.register_keras_serializable("tf_adapt")
class LinearHead(VectorReader):
    """`W dropout(v) + b` on the encoder's `pooled` vector v of the text or the pair.

    With `pooling` v is the first or last hidden state of the row (for BERT that of `[CLS]`, without
    the pooler's dense layer, or of the last `[SEP]`), or the mean or maximum of those of its words:
    see `row_vectors`. The hidden states are those of the top layer, or with `mixed` a `ScalarMix`.
    With `scaled` the vectors of each layer are standardised over the training texts, then mixed:
    layers and features of a frozen encoder differ much in scale.

    Shapes: encoded, a list of one encoder output (`pooled`: `[batch, width]`; with `pooling`
    `layers`: list of `[batch, time, width]`, `mask`: `[batch, time] bool`); the inputs, by which
    special tokens are left out → logits `[batch, num_outputs] float32`, or `[batch] float32` for
    regression.

    Masking: padding is not pooled; a row without a real position has the vector 0.

    Args:
        num_outputs: number of labels; 1 for regression.
        dropout: dropout rate of the vector.
        regression: return one number per example instead of a row.
        pooling: None (the encoder's pooled vector), "first", "last", "mean" or "max".
        mixed: with `pooling`, use a `ScalarMix` of all layers instead of the top layer.
        scaled: with `pooling`, standardise; `fit` and a run set mean and deviation once.

    Source: Devlin et al. 2019, section 4 (the pooled vector).
    """

    def __init__(
        self,
        num_outputs: int,
        dropout: float = 0.1,
        regression: bool = False,
        pooling: str | None = None,
        mixed: bool = False,
        scaled: bool = False,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.reads(num_outputs, mixed, regression, pooling, scaled)
        self.dropout = dropout
        self.dropout_layer = keras.layers.Dropout(dropout, dtype=self.dtype_policy)
        self.dense = output_layer(num_outputs)

    def build(self, encoded_shape, inputs_shape=None):
        self.dense.build((None, self.built_width(encoded_shape)))

    def vectors(self, encoded, inputs=None, training=None) -> list:
        """What it reads of each encoded row: `[batch, width]`."""
        return read_vectors(encoded, inputs, self.pooling, self.mix, self.scaling, training)

    def call(self, encoded, inputs=None, training=None):
        (vector,) = self.vectors(encoded[:1], inputs, training)
        logits = self.dense(self.dropout_layer(vector, training=training))
        return logits[:, 0] if self.regression else logits


def output_layer(num_outputs: int) -> keras.layers.Dense:
    """The dense layer that computes logits, in float32 under every dtype policy.

    Truncated normal kernel with σ = 0.02 and zero bias, as google-research/bert initialises its
    classifiers.
    """
    return keras.layers.Dense(
        num_outputs,
        kernel_initializer=keras.initializers.TruncatedNormal(stddev=0.02),
        dtype="float32",
        name="output",
    )
