"""The layers of an AWD-LSTM, with dropout of whole words, of features over time and of weights."""

import keras
import tensorflow as tf
from keras import ops

from hub_modules.native.arguments import ArgumentsInConfig
from hub_modules.native.causal_embeddings import embedding_table
from hub_modules.native.kernels.lstm_recurrence import lstm_recurrence


@keras.saving.register_keras_serializable("hub_modules")
class WordEmbeddings(ArgumentsInConfig, keras.layers.Layer):
    """`E[id]`, with dropout of whole words and then of features.

    In training each row of E is 0 with probability `word_dropout`, everywhere in the batch, and
    `1 / (1 − word_dropout)` times itself otherwise; then features are dropped, the same ones at
    each position of a text.

    Shapes: ids `[batch, time] int32` → `[batch, time, width]`.

    Source: Merity, Keskar, Socher 2018, "Regularizing and Optimizing LSTM Language Models",
    sections 4.2 and 4.3.
    """

    def __init__(
        self, vocabulary_size: int, width: int, word_dropout: float, dropout: float, **kwargs
    ):
        super().__init__(**kwargs)
        self.vocabulary_size = vocabulary_size
        self.width = width
        self.word_dropout = word_dropout
        self.dropout = dropout
        self.seeds = keras.random.SeedGenerator()
        self.dropout_layer = dropout_over_time(dropout, self.dtype_policy)

    def build(self, input_shape=None):
        uniform = keras.initializers.RandomUniform(-0.1, 0.1)
        self.word_embeddings = embedding_table(
            self, "word_embeddings", self.vocabulary_size, uniform
        )

    def call(self, ids, training=None):
        table = self.word_embeddings
        states = ops.take(table, ids, axis=0)
        states = states if table.trainable else ops.stop_gradient(states)
        if training and self.word_dropout:
            kept = _mask((self.vocabulary_size,), self.word_dropout, self.seeds)
            states = states * ops.take(kept, ids, axis=0)[..., None]
        return self.dropout_layer(ops.cast(states, self.compute_dtype), training=training)


@keras.saving.register_keras_serializable("hub_modules")
class WeightDropLstm(ArgumentsInConfig, keras.layers.Layer):
    """An LSTM whose recurrent weights are dropped in training: one mask for all steps of a call.

    `i, f, g, o = x K + h (M ∘ U) + b`; `c = σ(f) c + σ(i) tanh(g)`; `h = σ(o) tanh(c)`, from zero
    states. M is 0 with probability p = `weight_dropout`, else 1 / (1 − p).

    Shapes: inputs `[batch, time, width]`, a `Packing` of the rows → `[batch, time, units]`.

    Masking: padding, which comes after the real positions, is skipped; outputs there are 0.

    Source: Merity, Keskar, Socher 2018, section 2.
    """

    def __init__(self, units: int, weight_dropout: float, **kwargs):
        super().__init__(**kwargs)
        self.units = units
        self.weight_dropout = weight_dropout
        self.seeds = keras.random.SeedGenerator()

    def build(self, input_shape):
        # The initialisation of PyTorch and fast.ai.
        uniform = keras.initializers.RandomUniform(-(self.units**-0.5), self.units**-0.5)
        self.kernel = self.add_weight(
            name="kernel", shape=(input_shape[-1], 4 * self.units), initializer=uniform
        )
        # The recurrence runs in float32 under every policy.
        self.recurrent_kernel = self.add_weight(
            name="recurrent_kernel",
            shape=(self.units, 4 * self.units),
            initializer=uniform.clone(),
            autocast=False,
        )
        self.bias = self.add_weight(
            name="bias", shape=(4 * self.units,), initializer="zeros", autocast=False
        )

    def call(self, states, packing=None, training=None):
        kernel = ops.cast(self.kernel, self.compute_dtype)
        packed = packing.pack(ops.cast(states, self.compute_dtype), packing.forward)
        gates = ops.cast(tf.matmul(packed, kernel), "float32") + self.bias
        recurrent = tf.convert_to_tensor(self.recurrent_kernel)
        if training and self.weight_dropout:
            recurrent *= _mask(recurrent.shape, self.weight_dropout, self.seeds)
        hidden = lstm_recurrence(gates, recurrent, packing.counts, packing.before)
        return ops.cast(packing.unpack(hidden, packing.forward), self.compute_dtype)


def dropout_over_time(rate: float, policy) -> keras.layers.Dropout:
    """Dropout with the same mask at each position of a text: `[batch, time, width]` → the same."""
    return keras.layers.Dropout(rate, noise_shape=(None, 1, None), dtype=policy)


def _mask(shape, rate: float, seed):
    """0 with probability `rate`, else 1 / (1 − rate), in float32."""
    kept = keras.random.uniform(shape, seed=seed) >= rate
    return ops.cast(kept, "float32") / (1.0 - rate)
