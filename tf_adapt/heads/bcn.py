"""BCN, the biattentive classification network, on the hidden states of one text."""

import keras
import tensorflow as tf

from tf_adapt.heads.head_layer import HeadLayer
from tf_adapt.layers.bi_lstm import BiLstm
from tf_adapt.layers.maxout import Maxout
from tf_adapt.layers.pooling import (
    POOLINGS,
    masked_max,
    masked_mean,
    masked_min,
)
from tf_adapt.layers.scalar_mix import ScalarMix
from tf_adapt.layers.soft_alignment import masked_softmax
from tf_adapt.layers.texts import input_states, text_states


@keras.saving.register_keras_serializable("tf_adapt")
class BCN(HeadLayer):
    """Two BiLSTMs with self-attention in between, four poolings, three maxout layers.

    1. `E = relu(x W + b)` of the encoder's hidden states x; `H = BiLSTM(E)`.
    2. `C = softmax(H Hᵀ) H`, unscaled; `I = BiLSTM([H; H − C; H ⊙ C])`.
    3. `p = [max I; min I; mean I; Σ_t softmax_t(I_t v + c) I_t]`.
    4. Maxout layers of width 4 * units, 2 * units and num_outputs; the last returns the logits.

    With `mixed`, x is a `ScalarMix` of the encoder's layers, and a second one, with its own
    weights, is concatenated with I in step 3; without, x is the top layer.

    Shapes: encoded, a list of one encoder output (`layers`: list of `[batch, time, width]`,
    `mask`: `[batch, time] bool`), and BERT's inputs, to leave out `[CLS]` and `[SEP]` → logits
    `[batch, num_outputs] float32`, or `[batch] float32` for regression.

    Masking: padding is neither attended to nor pooled; for a text without a real word all pools
    are 0.

    Args:
        num_outputs: number of labels; 1 for regression.
        units: width of the dense layer and of each direction of the BiLSTMs.
        mixed: use `ScalarMix`es of all layers.
        dropout: dropout rate of the input x.
        encoder_dropout: of E. pool_dropout: of p.
        first_maxout_dropout, second_maxout_dropout: of the outputs of these layers.
        regression: return one number per example instead of a row.
        pooling: "first", "last", "mean" or "max" of I, in place of the published
            combination (None).

    Source: McCann et al. 2017, section 5; AllenNLP's `biattentive_classification_network_elmo`,
    whose sizes and dropouts are the defaults.
    """

    def __init__(
        self,
        num_outputs: int,
        units: int = 300,
        mixed: bool = True,
        dropout: float = 0.5,
        encoder_dropout: float = 0.25,
        pool_dropout: float = 0.1,
        first_maxout_dropout: float = 0.2,
        second_maxout_dropout: float = 0.3,
        regression: bool = False,
        pooling: str | None = None,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.reads(num_outputs, mixed, regression, pooling)
        self.units = units
        self.dropout = dropout
        self.encoder_dropout = encoder_dropout
        self.pool_dropout = pool_dropout
        self.first_maxout_dropout = first_maxout_dropout
        self.second_maxout_dropout = second_maxout_dropout
        policy = self.dtype_policy
        self.output_mix = ScalarMix(name="output_mix", dtype=policy) if mixed else None
        self.pre_encoder = keras.layers.Dense(
            units, activation="relu", name="pre_encoder", dtype=policy
        )
        self.encoder = BiLstm(units, name="encoder", dtype=policy)
        self.integrator = BiLstm(units, name="integrator", dtype=policy)
        # A bias would add a constant to the scores of all words, which a softmax ignores.
        self.self_attention = (
            keras.layers.Dense(1, use_bias=False, name="self_attention", dtype=policy)
            if pooling is None
            else None
        )
        self.maxouts = [
            Maxout(4 * units, name="maxout_0", dtype=policy),
            Maxout(2 * units, name="maxout_1", dtype=policy),
            Maxout(num_outputs, name="output", dtype="float32"),
        ]
        self.dropouts = {
            name: keras.layers.Dropout(share, dtype=policy)
            for name, share in (
                ("input", dropout),
                ("encoder", encoder_dropout),
                ("pool", pool_dropout),
                ("maxout_0", first_maxout_dropout),
                ("maxout_1", second_maxout_dropout),
            )
        }

    def build(self, encoded_shape, inputs_shape=None):
        text = self.built_mix(encoded_shape)
        width, integrated = text["layers"][-1][-1], 2 * self.units
        if self.mixed:
            self.output_mix.build(text["layers"])
            integrated += width
        self.pre_encoder.build((None, None, width))
        self.encoder.build((None, None, self.units))
        self.integrator.build((None, None, 6 * self.units))
        if self.self_attention:
            self.self_attention.build((None, None, integrated))
        pooled = 4 * integrated if self.pooling is None else integrated
        for maxout, size in zip(
            self.maxouts, (pooled, 4 * self.units, 2 * self.units), strict=True
        ):
            maxout.build((None, size))

    def call(self, encoded, inputs=None, training=None):
        states, mask = text_states(input_states(encoded, self.mix, training), encoded, inputs)[0]
        states = self.dropouts["input"](states, training=training)
        states = self.dropouts["encoder"](self.pre_encoder(states), training=training)
        integrated = self._integrated(self.encoder(states, mask), mask)
        if self.mixed:
            again = input_states(encoded, self.output_mix, training)
            again, _ = text_states(again, encoded, inputs)[0]
            integrated = tf.concat([integrated, again], axis=-1)
        features = self.dropouts["pool"](self._pooled(integrated, mask), training=training)
        for maxout in self.maxouts[:2]:
            features = self.dropouts[maxout.name](maxout(features), training=training)
        logits = self.maxouts[2](features)
        return logits[:, 0] if self.regression else logits

    def _integrated(self, states, mask):
        scores = tf.matmul(states, states, transpose_b=True)  # [batch, time, time]
        attention = tf.cast(masked_softmax(scores, mask[:, None]), states.dtype)
        context = tf.matmul(attention, states)
        both = tf.concat([states, states - context, states * context], axis=-1)
        return self.integrator(both, mask)

    def _pooled(self, states, mask):
        if self.pooling is not None:
            return POOLINGS[self.pooling](states, mask)
        attention = masked_softmax(self.self_attention(states)[..., 0], mask)  # [batch, time]
        visible = tf.where(mask[..., None], states, tf.zeros_like(states))
        attended = tf.einsum("bt,btw->bw", tf.cast(attention, states.dtype), visible)
        pools = [pool(states, mask) for pool in (masked_max, masked_min, masked_mean)]
        return tf.concat([*pools, attended], axis=-1)
