"""Output layers of language models: from an encoder's hidden states to words or word pieces."""

import math
from collections.abc import Callable

import keras
import tensorflow as tf
from keras import ops

from hub_modules.native.arguments import ArgumentsInConfig
from hub_modules.native.kernels.layer_norm import LayerNorm
from hub_modules.native.transformer import ACTIVATIONS
from hub_modules.native.weights import load_weights_by_name, weights_by_name

# Positions whose logits of all words are in memory at once: 160 MB for 40,000 words.
CHUNK = 1024


@keras.saving.register_keras_serializable("hub_modules")
class MaskedLanguageModelHead(ArgumentsInConfig, keras.layers.Layer):
    """BERT's output layer: logits of all word pieces, tied to the encoder's word embeddings.

    `LayerNorm(activation(h W + c)) Eᵀ + b`. The table E is an argument of each call, not a weight
    of this layer: its gradient adds to that of the look-up at the encoder's input.

    Shapes: hidden states `[…, width]`, word_embeddings `[vocabulary_size, width]` →
    `[…, vocabulary_size] float32`.

    Args:
        activation: as of the encoder: "gelu_exact" or "gelu_tanh".

    Source: Devlin et al. 2019, "BERT"; google-research/bert, run_pretraining.py.
    """

    def __init__(
        self,
        width: int,
        vocabulary_size: int,
        activation: str = "gelu_exact",
        layer_norm_epsilon: float = 1e-12,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.width = width
        self.vocabulary_size = vocabulary_size
        self.activation = activation
        self.layer_norm_epsilon = layer_norm_epsilon
        self.dense = keras.layers.Dense(
            width,
            kernel_initializer=keras.initializers.TruncatedNormal(stddev=0.02),
            name="dense",
            dtype=self.dtype_policy,
        )
        self.layer_norm = LayerNorm(
            epsilon=layer_norm_epsilon, name="layer_norm", dtype=self.dtype_policy
        )

    def build(self, states_shape=None, word_embeddings_shape=None):
        self.dense.build((None, self.width))
        self.layer_norm.build((None, self.width))
        self.bias = self.add_weight(
            name="bias", shape=(self.vocabulary_size,), initializer="zeros", autocast=False
        )

    def call(self, states, word_embeddings):
        states = self.layer_norm(ACTIVATIONS[self.activation](self.dense(states)))
        scores = ops.matmul(states, ops.transpose(word_embeddings))
        return ops.cast(scores, "float32") + self.bias

    def weights_by_name(self) -> dict:
        """Every weight by its name in a module's `output_layer.npz`."""
        return weights_by_name(self, first="dense/kernel")

    def load_weights_by_name(self, arrays: dict) -> None:
        """Sets every weight from `{name: array}`; see `hub_modules.native.weights`."""
        load_weights_by_name(self.weights_by_name(), arrays)


@keras.saving.register_keras_serializable("hub_modules")
class TiedLanguageModelHead(ArgumentsInConfig, keras.layers.Layer):
    """AWD-LSTM's output layer: `h Eᵀ + b`, tied to the encoder's word embeddings.

    The table E is an argument of each call, as of `MaskedLanguageModelHead`.

    Shapes: hidden states `[…, width]`, word_embeddings `[vocabulary_size, width]` →
    `[…, vocabulary_size] float32`.

    Source: Merity, Keskar, Socher 2018, section 4.5.
    """

    def __init__(self, vocabulary_size: int, **kwargs):
        super().__init__(**kwargs)
        self.vocabulary_size = vocabulary_size

    def build(self, states_shape=None, word_embeddings_shape=None):
        self.bias = self.add_weight(
            name="bias", shape=(self.vocabulary_size,), initializer="zeros", autocast=False
        )

    def call(self, states, word_embeddings):
        table = ops.cast(word_embeddings, self.compute_dtype)
        scores = ops.matmul(ops.cast(states, self.compute_dtype), ops.transpose(table))
        return ops.cast(scores, "float32") + self.bias

    def weights_by_name(self) -> dict:
        """The one weight by its name in a module's `output_layer.npz`."""
        return {"bias": self.bias}

    def load_weights_by_name(self, arrays: dict) -> None:
        """Sets the weight from `{name: array}`; see `hub_modules.native.weights`."""
        load_weights_by_name(self.weights_by_name(), arrays)


@keras.saving.register_keras_serializable("hub_modules")
class BiLanguageModelHead(ArgumentsInConfig, keras.layers.Layer):
    """ELMo's output layer: one softmax over words, shared by both directions.

    `log softmax(h Wᵀ + b)`: of the next word for the forward half of a hidden state, of the
    previous word for the backward half.

    Shapes: hidden states `[…, 2 * projection_width]`, forward and backward concatenated →
    log-probabilities `[…, 2, num_words] float32`.

    Args:
        num_words: size of the output vocabulary, which is sorted by falling frequency.

    Source: Peters et al. 2018; bilm-tf, `bilm/training.py`.
    """

    def __init__(self, num_words: int, projection_width: int, **kwargs):
        super().__init__(**kwargs)
        self.num_words = num_words
        self.projection_width = projection_width

    def build(self, states_shape=None):
        # No automatic cast: a few rows are cast after the look-up instead of the whole table.
        self.kernel = self.add_weight(
            name="kernel", shape=(self.num_words, self.projection_width), autocast=False
        )
        self.bias = self.add_weight(
            name="bias", shape=(self.num_words,), initializer="zeros", autocast=False
        )

    def call(self, states):
        shape = ops.shape(states)
        halves = ops.reshape(states, (*shape[:-1], 2, self.projection_width))
        return ops.log_softmax(self._scores(halves))

    def target_losses(self, states, targets):
        """`−log p(target)` with the full softmax, `CHUNK` positions at a time.

        Shapes: hidden states of one direction `[positions, projection_width]`, targets
        `[positions] int32` → `[positions] float32`.
        """
        return losses_in_chunks(self._scores, states, targets)

    def sampled_losses(self, states, targets, num_samples: int, seed):
        """Sampled-softmax estimate of `target_losses`, for training.

        `log(exp s_target + Σ_{k ≠ target} exp s_k / (S q_k)) − s_target` over S words k, drawn
        independently with `q_k = log((k + 2) / (k + 1)) / log(num_words + 1)` and shared by all
        positions. The sum inside the logarithm is an unbiased estimate of the full softmax's.

        Shapes: as `target_losses`; seed `[2] int`.

        Source: Bengio and Senécal 2003, importance sampling; the proposal as in bilm-tf.
        """
        words = log_uniform_words(self.num_words, num_samples, seed)
        # log(S q_k), with log1p so that the small q_k of rare words keep their precision.
        rank = tf.cast(words, "float32")
        expected = tf.math.log(tf.math.log1p(1.0 / (rank + 1.0))) + math.log(
            num_samples / math.log(self.num_words + 1)
        )
        others = self._scores(states, words) - expected
        others = tf.where(words[None] == targets[:, None], -math.inf, others)
        true = tf.gather(self.kernel, targets)
        true = tf.reduce_sum(tf.cast(states, "float32") * true, axis=-1)
        true += tf.gather(self.bias, targets)
        return tf.reduce_logsumexp(tf.concat([true[:, None], others], axis=1), axis=1) - true

    def _scores(self, states, words=None):
        """`h Wᵀ + b` in float32 for all words, or for some of them `[words] int32`."""
        kernel, bias = ops.convert_to_tensor(self.kernel), ops.convert_to_tensor(self.bias)
        if words is not None:
            kernel, bias = tf.gather(kernel, words), tf.gather(bias, words)
        states, kernel = (ops.cast(part, self.compute_dtype) for part in (states, kernel))
        return ops.cast(ops.matmul(states, ops.transpose(kernel)), "float32") + bias

    def weights_by_name(self) -> dict:
        """Every weight by its name in a module's `output_layer.npz`."""
        return weights_by_name(self, first="kernel")

    def load_weights_by_name(self, arrays: dict) -> None:
        """Sets every weight from `{name: array}`; see `hub_modules.native.weights`."""
        load_weights_by_name(self.weights_by_name(), arrays)


def losses_in_chunks(scores: Callable, states, targets):
    """`−log softmax(scores(states))` of the targets, `CHUNK` positions at a time.

    Shapes: hidden states `[positions, width]`, targets `[positions] int32` → `[positions] float32`.

    Args:
        scores: `[positions, width]` → `[positions, words] float32`.
    """
    count = tf.shape(states)[0]
    chunk = tf.clip_by_value(count, 1, CHUNK)
    spare = tf.maximum(-(-count // chunk), 1) * chunk - count
    states = tf.pad(states, [[0, spare], [0, 0]])
    states = tf.reshape(states, [-1, chunk, states.shape[-1]])
    targets = tf.reshape(tf.pad(targets, [[0, spare]]), [-1, chunk])
    losses = tf.map_fn(
        lambda part: tf.nn.sparse_softmax_cross_entropy_with_logits(
            labels=part[1], logits=scores(part[0])
        ),
        (states, targets),
        fn_output_signature=tf.TensorSpec([None], tf.float32),
    )
    return tf.reshape(losses, [-1])[:count]


def log_uniform_words(num_words: int, count: int, seed):
    """Draws word ids `[count] int32` with replacement, `q_k = log((k+2)/(k+1)) / log(num_words+1)`.

    By inverting the distribution function, `k = ⌊exp(u · log(num_words + 1))⌋ − 1`, with a
    stateless u: the same seed gives the same words.
    """
    uniform = tf.random.stateless_uniform([count], tf.cast(seed, tf.int32))
    words = tf.exp(uniform * math.log(num_words + 1)) - 1.0
    return tf.clip_by_value(tf.cast(words, tf.int32), 0, num_words - 1)
