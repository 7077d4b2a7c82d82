"""What a decoder's layers are given to read an encoder's states: attention to another text."""

import keras
from keras import ops

from hub_modules.native.arguments import ArgumentsInConfig
from hub_modules.native.kernels.layer_norm import LayerNorm
from hub_modules.native.transformer import FIXED, SelfAttention, as_rows


@keras.saving.register_keras_serializable("hub_modules")
class CrossAttention(SelfAttention):
    """Multi-head attention of a decoder's positions to those of an encoder.

    `softmax(Q Kᵀ / √head_width) V`: queries of the decoder's states, keys and values of the
    encoder's, over its positions that are not padding.

    Shapes: `keys_and_values` as of `SelfAttention`, of `[batch, source, width]`, values of
    `[batch, source, value_width]`; `attend` of `[batch, time, width]`.

    Args:
        value_width: width of what the values are computed of.

    Source: Vaswani et al. 2017, section 3.2.3.
    """

    fixed_arguments = FIXED

    def __init__(self, width: int, num_heads: int, dropout: float, value_width: int, **kwargs):
        super().__init__(width, num_heads, dropout, **kwargs)
        self.value_width = value_width

    def build(self, input_shape=None):
        for dense in (self.query, self.key, self.output_projection):
            dense.build((None, None, self.width))
        self.value.build((None, None, self.value_width))

    def memory(self, keys_of, values_of) -> tuple:
        """Keys and values `[batch, heads, source, head_width]`."""
        shape = ops.shape(keys_of)[:2]
        keys = self.key(as_rows(keys_of))
        values = self.value(as_rows(values_of, self.value_width))
        return self._heads(keys, shape), self._heads(values, shape)


@keras.saving.register_keras_serializable("hub_modules")
class CrossBlock(ArgumentsInConfig, keras.layers.Layer):
    """`y = h + CrossAttention(LN(h))`, between self-attention and feed-forward part of a
    `CausalBlock`; dropout before the sum.

    Shapes: states `[batch, time, width]`, memory: keys and values `[batch, heads, source,
    head_width]`, mask `[batch, source] bool` → `[batch, time, width]`.

    Source: transformers, `GPT2Block` with `add_cross_attention`.
    """

    def __init__(
        self,
        width: int,
        num_heads: int,
        dropout: float,
        attention_dropout: float,
        layer_norm_epsilon: float,
        value_width: int,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.width = width
        self.num_heads = num_heads
        self.dropout = dropout
        self.attention_dropout = attention_dropout
        self.layer_norm_epsilon = layer_norm_epsilon
        self.value_width = value_width
        policy = self.dtype_policy
        self.layer_norm = LayerNorm(epsilon=layer_norm_epsilon, name="layer_norm", dtype=policy)
        self.attention = CrossAttention(
            width, num_heads, attention_dropout, value_width, name="attention", dtype=policy
        )
        self.dropout_layer = keras.layers.Dropout(dropout, dtype=policy)

    def build(self, input_shape=None):
        self.layer_norm.build((None, None, self.width))
        self.attention.build()

    def call(self, states, memory, mask, training=None):
        read = self.layer_norm(states)
        attended = self.attention.attend(read, *memory, mask, training=training)
        return states + self.dropout_layer(attended, training=training)
