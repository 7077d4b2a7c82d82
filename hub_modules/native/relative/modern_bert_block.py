"""The transformer layer of ModernBERT: rotary positions, local or global attention, GeGLU."""

import keras
import numpy as np
import tensorflow as tf
from keras import ops

from hub_modules.native.kernels.activations import ACTIVATIONS
from hub_modules.native.kernels.local_attention import in_blocks, local_attention
from hub_modules.native.transformer import FIXED, SelfAttention, TransformerBlock, as_rows

# Longer rows are attended to globally by so many queries at a time, in inference.
LONGEST_WHOLE, QUERIES = 1024, 512


@keras.saving.register_keras_serializable("hub_modules")
class RotaryAttention(SelfAttention):
    """Self-attention whose queries and keys are turned by their positions.

    With `x = [a, b]` the halves of a head and `φ_t,i = t base^(−2i / head_width)`:
    `[a cos φ − b sin φ, b cos φ + a sin φ]`, in float32. With `reach` a position attends to those
    at most so far away; long rows are then computed in blocks, in memory linear in their length.

    Shapes: as of `SelfAttention`, without biases.

    Args:
        base: of the wave lengths.
        reach: largest distance of what a position attends to; None: any.

    Source: Su et al. 2021, "RoFormer", equation 34; Warner et al. 2024, "Smarter, Better, Faster,
    Longer", section 2.1.
    """

    fixed_arguments = FIXED

    def __init__(
        self, width: int, num_heads: int, dropout: float, base: float, reach: int | None, **kwargs
    ):
        super().__init__(width, num_heads, dropout, use_bias=False, **kwargs)
        self.base = base
        self.reach = reach

    def keys_and_values(self, states) -> tuple:
        """See `SelfAttention`; the keys are turned."""
        key, value = super().keys_and_values(states)
        return self._turned(key), value

    def mix(self, query, key, value, visible, training):
        """See `SelfAttention`."""
        query = self._turned(query)
        if self.reach is None:
            return self._in_parts(query, key, value, visible, training)
        attend = super().mix
        return local_attention(
            query, key, value, visible, self.reach, lambda *parts: attend(*parts, training)
        )

    def _in_parts(self, query, key, value, visible, training):
        whole = super().mix
        if training:
            return whole(query, key, value, visible, training)
        return tf.cond(
            tf.shape(query)[2] <= LONGEST_WHOLE,
            lambda: whole(query, key, value, visible, training),
            lambda: in_blocks(
                query, QUERIES, lambda part: whole(part, key, value, visible, training)
            ),
        )

    def _turned(self, heads):
        """`[batch, heads, time, head_width]` → the same."""
        time, width = ops.shape(heads)[2], heads.shape[-1]
        waves = np.float32(self.base ** (-np.arange(0, width, 2) / width))
        angles = ops.cast(ops.arange(time), "float32")[:, None] * waves
        cosine, sine = ops.cos(angles), ops.sin(angles)
        first, second = ops.split(ops.cast(heads, "float32"), 2, axis=-1)
        turned = [first * cosine - second * sine, second * cosine + first * sine]
        return ops.cast(ops.concatenate(turned, axis=-1), heads.dtype)


@keras.saving.register_keras_serializable("hub_modules")
class ModernBertBlock(TransformerBlock):
    """One pre-LayerNorm transformer layer without biases.

    `h = x + Attention(LN(x))`, `y = h + W₂ (gelu(a) · g)` with `[a, g] = W₁ LN(h)`, dropout of the
    rate `dropout` before W₂; with adapters behind the attention and W₂.

    Shapes: hidden states `[batch, time, width]`, mask `[batch, time] bool` →
    `[batch, time, width]`.

    Args:
        base, reach: as of `RotaryAttention`.
        first: the layer above the embeddings, which are normalised already: no LayerNorm before its
            attention.

    Source: Warner et al. 2024, section 2.1; answerdotai/ModernBERT.
    """

    use_bias = False

    def __init__(self, *, base: float, reach: int | None, first: bool, **kwargs):
        self.base = base
        self.reach = reach
        self.first = first
        super().__init__(**kwargs)

    def make_attention(self) -> RotaryAttention:
        """The self-attention, not yet built."""
        return RotaryAttention(
            self.width,
            self.num_heads,
            self.attention_dropout,
            self.base,
            self.reach,
            name="attention",
            dtype=self.dtype_policy,
        )

    def make_norm(self, name: str):
        """A LayerNorm, not yet built; None for what the first layer lacks."""
        return None if self.first and name == "attention_layer_norm" else super().make_norm(name)

    @property
    def inner_columns(self) -> int:
        """What is activated, and what gates it."""
        return 2 * self.intermediate_width

    @property
    def layer_norms(self) -> list[keras.layers.Layer]:
        """The LayerNorms."""
        return [norm for norm in super().layer_norms if norm is not None]

    def call(self, states, visible, training=None):
        normalized = states if self.first else self.attention_layer_norm(states)
        attended = as_rows(self.attention(normalized, visible, training=training))
        shape = ops.shape(states)
        if self.attention_adapter is not None:
            read = as_rows(normalized)
            attended = self._adapted(self.attention_adapter, attended, read, visible)
        states = as_rows(states) + attended
        read = self.output_layer_norm(states)
        inner, gate = ops.split(self.intermediate(read), 2, axis=-1)
        inner = self.output_dropout(ACTIVATIONS[self.activation](inner) * gate, training=training)
        inner = self.output_projection(inner)
        if self.output_adapter is not None:
            inner = self._adapted(self.output_adapter, inner, read, visible)
        return ops.reshape(states + inner, shape)
