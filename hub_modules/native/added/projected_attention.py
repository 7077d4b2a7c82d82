"""Projected attention layers: a narrow self-attention in parallel to each block of a BERT."""

import keras

from hub_modules.native.arguments import ArgumentsInConfig
from hub_modules.native.kernels.activations import ACTIVATIONS
from hub_modules.native.transformer import SelfAttention

MOST_HEADS = 6


@keras.saving.register_keras_serializable("hub_modules")
class ProjectedAttention(ArgumentsInConfig, keras.layers.Layer):
    """The projected attention layers of all blocks of an encoder, which share their projections.

    `PAL_i(x) = gelu(W_up Attention_i(W_down x + b_down) + b_up)` for block i, where `Attention_i`
    has no output projection and `x` is the block's input. With `h = LN(x + Attention(x))` the
    block's output is `LN(h + FFN(h) + PAL_i(x))`.

    As in the published code, including the gelu and the number of heads. Published is one for each
    of several tasks: see `TaskAttention`.

    W_up is initialised from a truncated normal distribution with standard deviation 1e-3 instead of
    the published 0.02, so that a pretrained encoder first computes almost the same as without these
    layers; not with zero, so that all weights get a gradient from the first step on.

    Shapes: hidden states `[batch, time, width]`, mask `[batch, time] bool` (False = padding), the
    block's index → `[batch, time, width]`.

    Masking: padding is never attended to.

    Args:
        width: of the hidden states.
        size: width of the attention, at least 1. The number of heads is the largest divisor of it
            up to 6, the published number (there for a size of 204).
        num_layers: number of blocks.
        activation: a key of `ACTIVATIONS`, the encoder's own.
        dropout: dropout rate of the attention weights, the encoder's own.

    Source: Stickland and Murray 2019, "BERT and PALs", section 3.3; AsaCooperStickland/Bert-n-Pals.
    """

    def __init__(
        self,
        width: int,
        size: int,
        num_layers: int,
        activation: str,
        dropout: float,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.width = width
        self.size = size
        self.num_layers = num_layers
        self.activation = activation
        self.dropout = dropout
        self.num_heads = max(n for n in range(1, MOST_HEADS + 1) if size % n == 0)
        self.down = self._dense(size, 0.02, "down")
        self.up = self._dense(width, 1e-3, "up")
        self.attentions = [
            SelfAttention(
                size,
                self.num_heads,
                dropout,
                projected=False,
                name=f"layer_{index}",
                dtype=self.dtype_policy,
            )
            for index in range(num_layers)
        ]

    def _dense(self, units: int, deviation: float, name: str):
        return keras.layers.Dense(
            units,
            kernel_initializer=keras.initializers.TruncatedNormal(stddev=deviation),
            name=name,
            dtype=self.dtype_policy,
        )

    def build(self, input_shape=None):
        self.down.build((None, None, self.width))
        self.up.build((None, None, self.size))
        for attention in self.attentions:
            attention.build((None, None, self.size))

    def call(self, states, mask, index: int, training=None):
        mixed = self.attentions[index](self.down(states), mask, training=training)
        return ACTIVATIONS[self.activation](self.up(mixed))
