"""The head for span extraction: whether each word begins the answer, and whether it ends it."""

import keras
import tensorflow as tf

from tf_adapt.heads.head_layer import HeadLayer
from tf_adapt.heads.linear import output_layer
from tf_adapt.layers.scalar_mix import ScalarMix
from tf_adapt.layers.texts import input_states

# Logits of padding: no probability, and no NaN in a gradient.
NEVER = -1e9


@keras.saving.register_keras_serializable("tf_adapt")
class SpanExtractor(HeadLayer):
    """`W dropout(h) + b` on the hidden state h of each token: two logits, to begin and to end.

    A word begins the answer with the logit of its first token and ends it with that of its last.
    That the row has no answer is its first position (`[CLS]`), whose logits come first. With
    `hidden_layer` there are two linear layers, `W₂ dropout(relu(W₁ h + b₁)) + b₂`, for states that
    were not trained to compare two texts, as ELMo's. The hidden states are those of the encoder's
    top layer, or with `mixed` a `ScalarMix` of its layers.

    Shapes: encoded, a list of one encoder output (`layers`: list of `[batch, time, width]`); inputs
    with `first_piece` and `last_piece` `[batch, words] int32`, the positions of each word's first
    and last token, −1 at padding → logits `[batch, 1 + words, 2] float32`.

    Masking: the logits of padding are −1e9.

    Args:
        mixed: use a `ScalarMix` of all layers.
        hidden_layer: two linear layers, the first as wide as the states, instead of one.
        dropout: dropout rate before the last layer.

    Source: Devlin et al. 2019, sections 4.2 and 4.3 (`[CLS]` for no answer).
    """

    def __init__(
        self,
        mixed: bool = False,
        hidden_layer: bool = False,
        dropout: float = 0.1,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.mixed = mixed
        self.hidden_layer = hidden_layer
        self.dropout = dropout
        self.mix = ScalarMix(name="mix", dtype=self.dtype_policy) if mixed else None
        self.hidden: keras.layers.Dense | None = None
        self.dropout_layer = keras.layers.Dropout(dropout, dtype=self.dtype_policy)
        self.dense = output_layer(2)

    def build(self, encoded_shape, inputs_shape=None):
        text = self.built_mix(encoded_shape)
        width = text["layers"][-1][-1]
        if self.hidden_layer:
            self.hidden = keras.layers.Dense(
                width, activation="relu", name="hidden", dtype=self.dtype_policy
            )
            self.hidden.build((None, None, width))
        self.dense.build((None, None, width))

    @property
    def output_shape(self) -> tuple:
        """Shape of the logits, for `model.summary()`."""
        return (None, None, 2)

    def call(self, encoded, inputs=None, training=None):
        (states,) = input_states(encoded[:1], self.mix, training)
        if self.hidden is not None:
            states = self.hidden(states)
        logits = self.dense(self.dropout_layer(states, training=training))
        is_word = inputs["first_piece"] >= 0
        by_word = [
            tf.where(
                is_word,
                tf.gather(logits[..., end], tf.maximum(inputs[place], 0), batch_dims=1),
                NEVER,
            )
            for end, place in enumerate(("first_piece", "last_piece"))
        ]
        return tf.concat([logits[:, :1], tf.stack(by_word, axis=-1)], axis=1)
