"""The transformer layer of GPT-2: a LayerNorm before self-attention and before feed-forward."""

import keras
from keras import ops

from hub_modules.native.kernels.activations import ACTIVATIONS
from hub_modules.native.transformer import TransformerBlock, as_rows


@keras.saving.register_keras_serializable("hub_modules")
class CausalBlock(TransformerBlock):
    """One pre-LayerNorm transformer layer: the parts of `TransformerBlock`, in another order.

    `h = x + Attention(LN(x))`, `y = h + W₂ gelu(W₁ LN(h))`, dropout before each sum; with adapters
    `h = x + Adapter₁(Attention(LN(x)))`, `y = h + Adapter₂(W₂ gelu(W₁ LN(h)))`, dropout before each
    of them.

    Shapes: hidden states `[batch, time, width]`, visible `[batch, time, keys] bool`: which
    positions each one attends to → `[batch, time, width]`. `between` maps h of a step to h, as a
    `CrossBlock`.

    Source: Radford et al. 2019, "GPT-2", section 2.3; openai/gpt-2.
    """

    def call(self, states, visible, training=None):
        normalized = self.attention_layer_norm(states)
        attended = self.attention(normalized, visible, training=training)
        return self._above_attention(states, normalized, attended, training)

    def step(self, states, visible, past: tuple, between=None, training=False) -> tuple:
        """As a call, with the keys and values of the positions before.

        Shapes: past, a key and a value `[batch, heads, positions, head_width]` → hidden states, and
        `past` with those of `states` behind.
        """
        normalized = self.attention_layer_norm(states)
        new = self.attention.keys_and_values(normalized)
        past = tuple(ops.concatenate(pair, axis=2) for pair in zip(past, new, strict=True))
        attended = self.attention.attend(normalized, *past, visible, training=training)
        return self._above_attention(states, normalized, attended, training, between), past

    def _above_attention(self, states, normalized, attended, training, between=None):
        shape = ops.shape(states)
        attended = self.attention_output_dropout(as_rows(attended), training=training)
        if self.attention_adapter is not None:
            attended = self.attention_adapter(attended, read=as_rows(normalized))
        states = as_rows(states) + attended
        if between is not None:
            states = as_rows(between(ops.reshape(states, shape)))
        read = self.output_layer_norm(states)
        inner = self.output_projection(ACTIVATIONS[self.activation](self.intermediate(read)))
        inner = self.output_dropout(inner, training=training)
        if self.output_adapter is not None:
            inner = self.output_adapter(inner, read=read)
        return ops.reshape(states + inner, shape)
