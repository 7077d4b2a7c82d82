"""The simplest head for tagging: the state of each word, dropout, one dense layer."""

import keras
import tensorflow as tf

from tf_adapt.heads.linear import output_layer


@keras.saving.register_keras_serializable("tf_adapt")
class LinearTagger(keras.layers.Layer):
    """`W dropout(h) + b` on the top layer's state h of each word.

    The state of a word that is cut into pieces is that of its first piece.

    Shapes: encoded, a list of one encoder output (`layers`: list of `[batch, time, width]`);
    inputs with `first_piece` `[batch, words] int32`, the position of each word's first piece, or
    without it where the encoder has one state a word → logits `[batch, words, num_outputs]
    float32`.

    Masking: logits at padding (`first_piece` −1) have no meaning.

    Args:
        num_outputs: number of tags.
        dropout: share of each state's units dropped while training.

    Source: Devlin et al. 2019, section 5.3.
    """

    def __init__(self, num_outputs: int, dropout: float = 0.1, **kwargs):
        super().__init__(**kwargs)
        self.num_outputs = num_outputs
        self.dropout = dropout
        self.dropout_layer = keras.layers.Dropout(dropout, dtype=self.dtype_policy)
        self.dense = output_layer(num_outputs)

    def build(self, encoded_shape, inputs_shape=None):
        text = encoded_shape[0] if isinstance(encoded_shape, list) else encoded_shape
        self.dense.build((None, None, text["layers"][-1][-1]))

    def call(self, encoded, inputs=None, training=None):
        states = encoded[0]["layers"][-1]
        if inputs is not None and "first_piece" in inputs:
            # Several times faster than `keras.ops.take_along_axis`, which repeats the positions
            # for every unit.
            states = tf.gather(states, tf.maximum(inputs["first_piece"], 0), batch_dims=1)
        return self.dense(self.dropout_layer(states, training=training))

    def get_config(self) -> dict:
        return super().get_config() | {"num_outputs": self.num_outputs, "dropout": self.dropout}
