"""The transformer layer of BERT: self-attention and feed-forward, each with its LayerNorm after."""

import keras
from keras import ops

from hub_modules.activations import ACTIVATIONS
from hub_modules.adapters import BottleneckAdapter
from hub_modules.layer_norm import LayerNorm


def as_rows(states, width: int | None = None):
    """`[…, width]` → `[rows, width]`: of a matrix, a product needs no shapes at run time.

    A product of three axes puts twenty operations into the graph, of two axes one.
    """
    return ops.reshape(states, (-1, width or states.shape[-1]))


@keras.saving.register_keras_serializable("hub_modules")
class SelfAttention(keras.layers.Layer):
    """Multi-head scaled dot-product self-attention with an output projection.

    `softmax(Q Kᵀ / √head_width) V` over the real positions, heads side by side, times the output
    kernel (without `projected` they come out as they are).

    Shapes: states `[batch, time, width]`, mask `[batch, time] bool` (True = real) →
    `[batch, time, width]`. The softmax is computed in float32.

    Source: Vaswani et al. 2017, equation 1.
    """

    def __init__(
        self, width: int, num_heads: int, dropout: float, projected: bool = True, **kwargs
    ):
        super().__init__(**kwargs)
        self.width = width
        self.num_heads = num_heads
        self.dropout = dropout
        self.projected = projected
        self.query = self._dense("query")
        self.key = self._dense("key")
        self.value = self._dense("value")
        self.output_projection = self._dense("output") if projected else None
        self.dropout_layer = keras.layers.Dropout(dropout, dtype=self.dtype_policy)

    def _dense(self, name: str):
        return keras.layers.Dense(
            self.width,
            kernel_initializer=keras.initializers.TruncatedNormal(stddev=0.02),
            name=name,
            dtype=self.dtype_policy,
        )

    def build(self, input_shape=None):
        for dense in (self.query, self.key, self.value, self.output_projection):
            if dense is not None:
                dense.build((None, None, self.width))

    def call(self, states, mask, training=None):
        shape = ops.shape(mask)
        head_width = self.width // self.num_heads
        rows = as_rows(states)
        query = self._heads(self.query(rows) * head_width**-0.5, shape)
        key = self._heads(self.key(rows), shape)
        value = self._heads(self.value(rows), shape)
        scores = ops.matmul(query, ops.transpose(key, (0, 1, 3, 2)))
        # [batch, heads, time, time]
        scores = ops.where(mask[:, None, None, :], ops.cast(scores, "float32"), -1e9)
        weights = ops.softmax(scores)
        weights = self.dropout_layer(ops.cast(weights, self.compute_dtype), training=training)
        mixed = as_rows(ops.transpose(ops.matmul(weights, value), (0, 2, 1, 3)), self.width)
        mixed = self.output_projection(mixed) if self.projected else mixed
        return ops.reshape(mixed, (*shape, self.width))

    def _heads(self, rows, shape):
        split = ops.reshape(rows, (*shape, self.num_heads, self.width // self.num_heads))
        return ops.transpose(split, (0, 2, 1, 3))  # [batch, heads, time, head_width]

    def get_config(self) -> dict:
        return super().get_config() | {
            "width": self.width,
            "num_heads": self.num_heads,
            "dropout": self.dropout,
            "projected": self.projected,
        }


@keras.saving.register_keras_serializable("hub_modules")
class TransformerBlock(keras.layers.Layer):
    """One post-LayerNorm transformer layer.

    `h = LN(x + Attention(x))`, `y = LN(h + W₂ gelu(W₁ h))`, dropout before each sum. With adapters
    `h = LN(x + Adapter₁(Attention(x)))`, `y = LN(h + Adapter₂(W₂ gelu(W₁ h)))`, dropout before
    each of them.

    Shapes: states `[batch, time, width]`, mask `[batch, time] bool` → `[batch, time, width]`; what
    is computed in parallel to the block, `added` `[batch, time, width]`, joins the second sum.

    Args:
        adapter_size: width of the two bottleneck adapters; None: the block has none.

    Source: Devlin et al. 2019; google-research/bert. Adapters: Houlsby et al. 2019, figure 2.
    """

    def __init__(
        self,
        width: int,
        num_heads: int,
        intermediate_width: int,
        activation: str,
        layer_norm_epsilon: float,
        dropout: float,
        attention_dropout: float,
        adapter_size: int | None = None,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.width = width
        self.num_heads = num_heads
        self.intermediate_width = intermediate_width
        self.activation = activation
        self.layer_norm_epsilon = layer_norm_epsilon
        self.dropout = dropout
        self.attention_dropout = attention_dropout
        self.adapter_size = adapter_size
        policy = self.dtype_policy
        normal = keras.initializers.TruncatedNormal(stddev=0.02)
        self.attention = SelfAttention(
            width, num_heads, attention_dropout, name="attention", dtype=policy
        )
        self.attention_layer_norm = LayerNorm(
            epsilon=layer_norm_epsilon, name="attention_layer_norm", dtype=policy
        )
        self.intermediate = keras.layers.Dense(
            intermediate_width, kernel_initializer=normal, name="intermediate", dtype=policy
        )
        self.output_projection = keras.layers.Dense(
            width, kernel_initializer=normal.clone(), name="output", dtype=policy
        )
        self.output_layer_norm = LayerNorm(
            epsilon=layer_norm_epsilon, name="output_layer_norm", dtype=policy
        )
        self.attention_output_dropout = keras.layers.Dropout(dropout, dtype=policy)
        self.output_dropout = keras.layers.Dropout(dropout, dtype=policy)
        self.attention_adapter = self._adapter("attention_adapter")
        self.output_adapter = self._adapter("output_adapter")

    def _adapter(self, name: str):
        if self.adapter_size is None:
            return None
        return BottleneckAdapter(
            self.width, self.adapter_size, self.activation, name=name, dtype=self.dtype_policy
        )

    @property
    def adapter_layers(self) -> list[keras.layers.Layer]:
        """The two adapters, or none."""
        return [self.attention_adapter, self.output_adapter] if self.adapter_size else []

    @property
    def layer_norms(self) -> list[keras.layers.Layer]:
        """The two LayerNorms."""
        return [self.attention_layer_norm, self.output_layer_norm]

    def build(self, input_shape=None):
        states = (None, None, self.width)
        self.attention.build(states)
        self.attention_layer_norm.build(states)
        self.intermediate.build(states)
        self.output_projection.build((None, None, self.intermediate_width))
        self.output_layer_norm.build(states)
        for adapter in self.adapter_layers:
            adapter.build(states)

    def call(self, states, mask, added=None, training=None):
        attended = as_rows(self.attention(states, mask, training=training))
        states = as_rows(states)
        attended = self.attention_output_dropout(attended, training=training)
        if self.attention_adapter is not None:
            attended = self.attention_adapter(attended)
        states = self.attention_layer_norm(states + attended)
        inner = ACTIVATIONS[self.activation](self.intermediate(states))
        inner = self.output_dropout(self.output_projection(inner), training=training)
        if self.output_adapter is not None:
            inner = self.output_adapter(inner)
        if added is not None:
            inner += as_rows(added)
        states = self.output_layer_norm(states + inner)
        return ops.reshape(states, (*ops.shape(mask), self.width))

    def get_config(self) -> dict:
        return super().get_config() | {
            "width": self.width,
            "num_heads": self.num_heads,
            "intermediate_width": self.intermediate_width,
            "activation": self.activation,
            "layer_norm_epsilon": self.layer_norm_epsilon,
            "dropout": self.dropout,
            "attention_dropout": self.attention_dropout,
            "adapter_size": self.adapter_size,
        }
