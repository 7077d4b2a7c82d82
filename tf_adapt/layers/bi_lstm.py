"""Bidirectional LSTM with zeros at padding."""

import keras
import tensorflow as tf

from hub_modules.native.arguments import ArgumentsInConfig
from hub_modules.native.kernels.lstm_recurrence import lstm_recurrence
from hub_modules.native.kernels.packing import Packing


@keras.saving.register_keras_serializable("tf_adapt")
class LstmWeights(ArgumentsInConfig, keras.layers.Layer):
    """The weights of one direction, in the layout of Keras' own LSTM.

    kernel `[width, 4 * units]`, recurrent_kernel `[units, 4 * units]`, bias `[4 * units]`, gates in
    the order i, f, g, o (input, forget, candidate, output).
    """

    def __init__(self, units: int, **kwargs):
        super().__init__(**kwargs)
        self.units = units

    def build(self, input_shape):
        units = self.units
        self.kernel = self.add_weight(name="kernel", shape=(input_shape[-1], 4 * units))
        # The recurrence runs in float32 under every policy.
        self.recurrent_kernel = self.add_weight(
            name="recurrent_kernel",
            shape=(units, 4 * units),
            initializer="orthogonal",
            autocast=False,
        )
        self.bias = self.add_weight(
            name="bias", shape=(4 * units,), initializer=_open_forget_gate, autocast=False
        )


@keras.saving.register_keras_serializable("tf_adapt")
class BiLstm(ArgumentsInConfig, keras.layers.Layer):
    """Two LSTMs, one from the first word to the last, one from the last real word to the first.

    `i, f, g, o = x K + h U + b`; `c = σ(f) c + σ(i) tanh(g)`; `h = σ(o) tanh(c)`, from zero states.

    Shapes: inputs `[batch, time, width]`, mask `[batch, time] bool` → `[batch, time, 2 * units]`,
    forward then backward, in the compute dtype.

    Masking: padding, which must come after the real positions, is skipped; outputs there are 0.

    Args:
        units: width of each direction.

    Attributes:
        forward, backward: the weights of each direction, see `LstmWeights`; at first K
            Glorot-uniform, U orthogonal, b 0 except 1 for the forget gate.

    Source: Hochreiter, Schmidhuber 1997; Gers et al. 2000 (forget gate); Graves, Schmidhuber 2005
    (both directions).
    """

    def __init__(self, units: int, **kwargs):
        super().__init__(**kwargs)
        self.units = units
        # The number of packed positions is a shape that XLA cannot know beforehand.
        self.supports_jit = False
        self.forward = LstmWeights(units, name="forward", dtype=self.dtype_policy)
        self.backward = LstmWeights(units, name="backward", dtype=self.dtype_policy)

    def build(self, states_shape, mask_shape=None):
        self.forward.build(states_shape)
        self.backward.build(states_shape)

    def call(self, states, mask):
        packing = Packing(tf.cast(mask, tf.bool))
        states = tf.cast(states, self.compute_dtype)
        both = []
        for direction, positions in (
            (self.forward, packing.forward),
            (self.backward, packing.backward),
        ):
            kernel = tf.cast(direction.kernel, self.compute_dtype)
            gates = tf.cast(tf.matmul(packing.pack(states, positions), kernel), tf.float32)
            recurrent = tf.convert_to_tensor(direction.recurrent_kernel)
            hidden = lstm_recurrence(
                gates + direction.bias, recurrent, packing.counts, packing.before
            )
            both.append(packing.unpack(hidden, positions))
        return tf.cast(tf.concat(both, axis=-1), self.compute_dtype)


def _open_forget_gate(shape, dtype=None):
    return tf.repeat(tf.constant([0, 1, 0, 0], dtype or "float32"), shape[0] // 4)
