"""ULMFiT's classifier: last, maximum and mean state side by side, then two dense layers."""

import keras
import tensorflow as tf

from tf_adapt.heads.head_layer import HeadLayer
from tf_adapt.heads.linear import output_layer
from tf_adapt.layers.pooling import masked_last, masked_max, masked_mean
from tf_adapt.layers.texts import input_states, text_states


@keras.saving.register_keras_serializable("tf_adapt")
class ConcatPoolingHead(HeadLayer):
    """`v = [h_last; max h; mean h]`, `u = relu(W₁ d₁(BN₁(v)) + b₁)`, `W₂ d₂(BN₂(u)) + b₂`.

    Pooled are the states of the text's words: see `text_states`. The batch normalisations use mean
    and variance of the global batch in training, of all devices together, and moving averages of
    them (0.9 of the old, 0.1 of the new) else. With accumulated gradients each is over one batch
    that is read; with one example in it the classifier sees β alone.

    Shapes: encoded, a list of one encoder output (`layers`: list of `[batch, time, width]`, `mask`:
    `[batch, time] bool`); the inputs, by which special tokens are left out → logits
    `[batch, num_outputs] float32`, or `[batch] float32` for regression.

    Masking: padding is not pooled; a text without a real word has the vector 0.

    Args:
        num_outputs: number of labels; 1 for regression.
        hidden_width: of u.
        dropout: rate of d₁.
        hidden_dropout: rate of d₂.
        mixed: use a `ScalarMix` of all layers instead of the top layer.
        regression: return one number per example instead of a row.

    Source: Howard and Ruder 2018, "Universal Language Model Fine-tuning", section 3.3; fast.ai for
    the sizes, the rates, and no relu on the logits.
    """

    def __init__(
        self,
        num_outputs: int,
        hidden_width: int = 50,
        dropout: float = 0.4,
        hidden_dropout: float = 0.1,
        mixed: bool = False,
        regression: bool = False,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.reads(num_outputs, mixed, regression)
        self.hidden_width = hidden_width
        self.dropout = dropout
        self.hidden_dropout = hidden_dropout
        policy = self.dtype_policy
        self.norms = [_batch_norm(f"norm_{index}", policy) for index in range(2)]
        self.dropouts = [
            keras.layers.Dropout(rate, dtype=policy) for rate in (dropout, hidden_dropout)
        ]
        self.hidden = keras.layers.Dense(
            hidden_width, activation="relu", name="hidden", dtype=policy
        )
        self.dense = output_layer(num_outputs)

    def build(self, encoded_shape, inputs_shape=None):
        text = self.built_mix(encoded_shape)
        width = 3 * text["layers"][-1][-1]
        for norm, layer, size in zip(
            self.norms, (self.hidden, self.dense), (width, self.hidden_width), strict=True
        ):
            norm.build((None, size))
            layer.build((None, size))

    def call(self, encoded, inputs=None, training=None):
        states = input_states(encoded, self.mix, training)
        text = text_states(states, encoded, inputs)[0]
        features = tf.concat([pool(*text) for pool in (masked_last, masked_max, masked_mean)], -1)
        for norm, dropout, layer in zip(
            self.norms, self.dropouts, (self.hidden, self.dense), strict=True
        ):
            normed = norm(features, training=training)
            features = layer(dropout(normed, training=training))
        return features[:, 0] if self.regression else features


def _batch_norm(name: str, policy):
    return keras.layers.BatchNormalization(
        momentum=0.9, epsilon=1e-5, synchronized=True, name=name, dtype=policy
    )
