"""One layer of ELMo's language model: two LSTMs with projection, one for each direction."""

import keras
import tensorflow as tf

from hub_modules.native.arguments import ArgumentsInConfig
from hub_modules.native.kernels.bilm_recurrence import projected_lstm


@keras.saving.register_keras_serializable("hub_modules")
class LstmDirection(ArgumentsInConfig, keras.layers.Layer):
    """The weights of one direction of one LSTM layer with projection, in bilm-tf's own layout.

    kernel `[input_width + projection_width, 4 * lstm_width]` with gates in the order input,
    candidate, forget, output; bias `[4 * lstm_width]`, without the +1 that the forget gate gets at
    run time; projection `[lstm_width, projection_width]`.
    """

    def __init__(self, lstm_width: int, projection_width: int, **kwargs):
        super().__init__(**kwargs)
        self.lstm_width = lstm_width
        self.projection_width = projection_width

    def build(self, input_shape):
        rows = input_shape[-1] + self.projection_width
        self.kernel = self.add_weight(name="kernel", shape=(rows, 4 * self.lstm_width))
        self.bias = self.add_weight(name="bias", shape=(4 * self.lstm_width,), initializer="zeros")
        self.projection = self.add_weight(
            name="projection", shape=(self.lstm_width, self.projection_width)
        )


@keras.saving.register_keras_serializable("hub_modules")
class BidirectionalLstm(ArgumentsInConfig, keras.layers.Layer):
    """Two LSTMs with projection, one per direction, run in one loop over time.

    `c = clip(σ(f + 1) c + σ(i) tanh(j))`, `h = clip((σ(o) tanh(c)) W_projection)`; with a skip
    connection the output is `h + input`, but the recurrent state is `h` alone. The input's part of
    the gates is computed for all time steps in one matrix product.

    Shapes: inputs `[2, batch, time, input_width]` (forward; backward, already reversed within each
    row's length), state `(h [2, batch, projection_width], c [2, batch, lstm_width])`, lengths
    `[batch]` → outputs `[2, batch, time, projection_width]` and the state after each row's last
    word.

    Masking: padding comes after the last word in both directions, so that it affects no word;
    outputs at padding are undefined.

    Source: Peters et al. 2018, "Deep contextualized word representations"; bilm-tf.
    """

    def __init__(
        self,
        lstm_width: int,
        projection_width: int,
        cell_clip: float | None,
        projection_clip: float | None,
        skip_connection: bool,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.lstm_width = lstm_width
        self.projection_width = projection_width
        self.cell_clip = cell_clip
        self.projection_clip = projection_clip
        self.skip_connection = skip_connection
        self.forward = LstmDirection(
            lstm_width, projection_width, name="forward", dtype=self.dtype_policy
        )
        self.backward = LstmDirection(
            lstm_width, projection_width, name="backward", dtype=self.dtype_policy
        )

    def build(self, input_shape):
        self.input_width = input_shape[-1]
        self.forward.build(input_shape)
        self.backward.build(input_shape)

    def _stacked(self, name: str):
        weights = [getattr(direction, name) for direction in (self.forward, self.backward)]
        return tf.stack([tf.cast(weight, self.compute_dtype) for weight in weights])

    def call(self, inputs, state, lengths):
        batch, time = tf.shape(inputs)[1], tf.shape(inputs)[2]
        kernel, projection = self._stacked("kernel"), self._stacked("projection")
        width = self.lstm_width
        bias = self._stacked("bias") + tf.cast(
            tf.repeat([0.0, 0.0, 1.0, 0.0], width), self.compute_dtype
        )
        # [time, 2, batch, 4 * lstm_width]
        by_time = tf.transpose(inputs, [2, 0, 1, 3])
        flat = tf.reshape(tf.transpose(inputs, [0, 2, 1, 3]), [2, -1, self.input_width])
        gates_from_input = tf.matmul(flat, kernel[:, : self.input_width]) + bias[:, None]
        gates_from_input = tf.transpose(
            tf.reshape(gates_from_input, [2, time, batch, 4 * width]), [1, 0, 2, 3]
        )
        outputs, *final = projected_lstm(
            gates_from_input,
            kernel[:, self.input_width :],
            projection,
            tf.cast(state[0], self.compute_dtype),
            # The cell adds up over time: half precision would lose the small increments.
            tf.cast(state[1], tf.float32),
            lengths,
            self.cell_clip,
            self.projection_clip,
        )
        if self.skip_connection:
            outputs += by_time
        return tf.transpose(outputs, [1, 2, 0, 3]), tuple(final)
