"""The simplest head on hidden states: max pooling, then a dense layer."""

import keras
import tensorflow as tf

from tf_adapt.errors import ConfigError
from tf_adapt.heads.head_layer import HeadLayer
from tf_adapt.heads.linear import output_layer
from tf_adapt.layers.head_inputs import HeadInputs, state_inputs
from tf_adapt.layers.pooling import POOLINGS
from tf_adapt.layers.texts import input_states, row_vectors, text_states


@keras.saving.register_keras_serializable("tf_adapt")
class MaxPoolingHead(HeadLayer):
    """`W dropout(v) + b` with v the maximum of each feature over the words of a text.

    With another `pooling` v is their mean, or the first or last hidden state of the text's row
    (for BERT that of `[CLS]` or `[SEP]`: see `row_vectors`).

    For two texts with the vectors u and v the features are `[u; v; |u − v|; u ⊙ v]`, or without
    `compared` `[u; v]`, in which nothing relates one text to the other.

    Shapes: encoded, a list of one or two encoder outputs (`layers`: list of
    `[batch, time, width]`, `mask`: `[batch, time] bool`); the inputs, to split a pair that BERT
    encodes as one row (see `text_states`) → logits `[batch, num_outputs] float32`, or
    `[batch] float32` for regression.

    Masking: padding is not pooled; a text without a real word has the vector 0.

    Args:
        num_outputs: number of labels; 1 for regression.
        pair: an example is two texts.
        compared: whether the features of a pair include difference and product.
        mixed: use a `ScalarMix` of all layers instead of the top layer.
        dropout: dropout rate of the features.
        regression: return one number per example instead of a row.
        pooling: "max", "mean", "first" or "last"; the last two need a row for each text.

    Raises:
        ConfigError: `first` or `last` for the two texts of one row.

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
        pooling: str = "max",
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.reads(num_outputs, mixed, regression, pooling)
        self.pair = pair
        self.compared = compared
        self.dropout = dropout
        self.dropout_layer = keras.layers.Dropout(dropout, dtype=self.dtype_policy)
        self.dense = output_layer(num_outputs)

    def build(self, encoded_shape, inputs_shape=None):
        text = self.built_mix(encoded_shape)
        vectors = (4 if self.compared else 2) if self.pair else 1
        self.dense.build((None, vectors * text["layers"][-1][-1]))

    def call(self, encoded, inputs=None, training=None):
        vectors = self.vectors(encoded, inputs, training)
        if self.pair and self.compared:
            u, v = vectors
            vectors += [tf.abs(u - v), u * v]
        features = self.dropout_layer(tf.concat(vectors, axis=-1), training=training)
        logits = self.dense(features)
        return logits[:, 0] if self.regression else logits

    def vectors(self, encoded, inputs=None, training=None) -> list:
        """What it reads of each text: `[batch, width]`."""
        states = input_states(encoded, self.mix, training)
        if self.pooling not in ("first", "last"):
            texts = text_states(states, encoded, inputs)[: 1 + self.pair]
            return [POOLINGS[self.pooling](*text) for text in texts]
        if len(encoded) != 1 + self.pair:
            raise ConfigError(
                f"pooling: {self.pooling} is the state at one end of a row, and these two texts "
                "are one row; encode them separately (encoder.pairs: separate), or take the head "
                "linear"
            )
        return row_vectors(states, encoded, inputs, self.pooling)

    @property
    def head_inputs(self) -> HeadInputs:
        """What has to be kept of a frozen encoder for this head."""
        # Both texts of a pair may be in one row, of which the mean would be another.
        rows = not self.pair or self.pooling in ("first", "last")
        return state_inputs(self.mixed, self.pooling if rows else None)
