"""A layer whose outputs are each the maximum of several linear functions."""

import keras
import tensorflow as tf

from hub_modules.native.arguments import ArgumentsInConfig


@keras.saving.register_keras_serializable("tf_adapt")
class Maxout(ArgumentsInConfig, keras.layers.Layer):
    """`max_k (W_k x + b_k)`, with `pool` linear functions for each output.

    Shapes: `[..., width]` → `[..., units]` in the compute dtype. The functions of one output are
    adjacent columns of the kernel `[width, units * pool]`.

    Args:
        units: width of the output.
        pool: number of linear functions of each output.

    Source: Goodfellow et al. 2013, "Maxout networks", equation in section 3.
    """

    def __init__(self, units: int, pool: int = 4, **kwargs):
        super().__init__(**kwargs)
        self.units = units
        self.pool = pool
        self.dense = keras.layers.Dense(units * pool, name="dense", dtype=self.dtype_policy)

    def build(self, input_shape):
        self.dense.build(input_shape)

    def call(self, inputs):
        pieces = self.dense(inputs)
        sizes = tf.concat([tf.shape(pieces)[:-1], [self.units, self.pool]], axis=0)
        outputs = tf.reduce_max(tf.reshape(pieces, sizes), axis=-1)
        return tf.ensure_shape(outputs, [*pieces.shape[:-1], self.units])
