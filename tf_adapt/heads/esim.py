"""ESIM, the enhanced sequential inference model, on the hidden states of two texts."""

import keras
import tensorflow as tf

from tf_adapt.heads.head_layer import HeadLayer
from tf_adapt.layers.bi_lstm import BiLstm
from tf_adapt.layers.pooling import POOLINGS
from tf_adapt.layers.soft_alignment import enhanced, soft_alignment
from tf_adapt.layers.texts import input_states, text_states


@keras.saving.register_keras_serializable("tf_adapt")
class ESIM(HeadLayer):
    """BiLSTM, soft alignment, enhancement, BiLSTM, pooling; the same weights for both texts.

    1. `ā = BiLSTM(a)`, `b̄ = BiLSTM(b)` of the hidden states of both texts; ã and b̃ are the
       attention of each word to the other text (dot products, softmax).
    2. `v_a = BiLSTM(relu([ā; ã; ā − ã; ā ⊙ ã] F + f))`, and v_b likewise.
    3. `relu([mean v_a; max v_a; mean v_b; max v_b] G + g) O + o`.

    Shapes: encoded, a list of two encoder outputs (texts encoded separately) or of one (BERT, a
    pair in one row, with its inputs; `[CLS]` and `[SEP]` are left out: see `text_states`), each
    with `layers`, list of `[batch, time, width]`, and `mask` `[batch, time] bool` → logits
    `[batch, num_outputs] float32`, or `[batch] float32` for regression.

    Masking: padding is neither attended to nor pooled; for a text without a real word all pools
    are 0.

    Args:
        num_outputs: number of labels; 1 for regression.
        units: width of the dense layers and of each direction of the BiLSTMs.
        mixed: use a `ScalarMix` of all layers instead of the top layer.
        dropout: dropout rate: of the input of each BiLSTM with one mask for all words of a text
            (variational), and of the inputs of G and O.
        regression: return one number per example, on the targets' own scale, instead of a row.
        pooling: "first", "last", "mean" or "max" of v_a and v_b, in place of the published
            combination (None).

    Source: Chen et al. 2017, section 3; AllenNLP's `esim_elmo`, whose sizes, dropout and
    initialisation (Glorot-uniform dense layers; see `BiLstm`) are the defaults.
    """

    def __init__(
        self,
        num_outputs: int,
        units: int = 300,
        mixed: bool = True,
        dropout: float = 0.5,
        regression: bool = False,
        pooling: str | None = None,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.reads(num_outputs, mixed, regression, pooling)
        self.units = units
        self.dropout = dropout
        self._pools = ("mean", "max") if pooling is None else (pooling,)
        policy = self.dtype_policy
        self.encoder = BiLstm(units, name="encoder", dtype=policy)
        self.projection = keras.layers.Dense(
            units, activation="relu", name="projection", dtype=policy
        )
        self.inference = BiLstm(units, name="inference", dtype=policy)
        self.hidden = keras.layers.Dense(units, activation="relu", name="hidden", dtype=policy)
        self.dense = keras.layers.Dense(num_outputs, name="output", dtype="float32")
        self.word_dropouts = [
            keras.layers.SpatialDropout1D(dropout, dtype=policy) for _ in range(2)
        ]
        self.pool_dropouts = [keras.layers.Dropout(dropout, dtype=policy) for _ in range(2)]

    def build(self, encoded_shape, inputs_shape=None):
        text = self.built_mix(encoded_shape)
        self.encoder.build((None, None, text["layers"][-1][-1]))
        self.projection.build((None, None, 8 * self.units))
        self.inference.build((None, None, self.units))
        self.hidden.build((None, 2 * len(self._pools) * 2 * self.units))
        self.dense.build((None, self.units))

    def call(self, encoded, inputs=None, training=None):
        texts = text_states(input_states(encoded, self.mix, training), encoded, inputs)
        states, mask, size = _one_batch(*texts)
        states = self.encoder(self.word_dropouts[0](states, training=training), mask)
        a, b = _two_texts(states, size)
        aligned = tf.concat(soft_alignment(a, b, *_two_texts(mask, size)), axis=0)
        states = self.projection(enhanced(states, aligned))
        states = self.inference(self.word_dropouts[1](states, training=training), mask)
        pools = tf.concat([POOLINGS[name](states, mask) for name in self._pools], axis=-1)
        features = tf.concat(_two_texts(pools, size), axis=-1)
        for dropout, layer in zip(self.pool_dropouts, (self.hidden, self.dense), strict=True):
            features = layer(dropout(features, training=training))
        return features[:, 0] if self.regression else features


def _one_batch(first, second) -> tuple:
    """Concatenates both texts along the batch axis, which halves the steps of the LSTMs.

    Shapes: states `[batch, words, width]` and masks of both → `[2 * batch, words, width]`, mask,
    batch.
    """
    (a, mask_a), (b, mask_b) = first, second
    time = tf.maximum(tf.shape(a)[1], tf.shape(b)[1])
    states = tf.concat([_padded(a, time), _padded(b, time)], axis=0)
    mask = tf.concat([_padded(mask_a, time), _padded(mask_b, time)], axis=0)
    return states, mask, tf.shape(a)[0]


def _padded(tensor, time):
    # Padding never reaches a result, so its values do not matter.
    spare = [[0, 0], [0, time - tf.shape(tensor)[1]], [0, 0]]
    return tf.pad(tensor, spare[: len(tensor.shape)])


def _two_texts(tensor, size) -> tuple:
    return tensor[:size], tensor[size:]
