"""The transformer layer of BERT: self-attention and feed-forward, each followed by a LayerNorm."""

import keras
from keras import ops

from hub_modules.native.added.adapters import BottleneckAdapter, extended
from hub_modules.native.added.settings import BottleneckAdapters
from hub_modules.native.arguments import ArgumentsInConfig
from hub_modules.native.kernels.activations import ACTIVATIONS
from hub_modules.native.kernels.layer_norm import LayerNorm

# Arguments of `SelfAttention` that have one value in its subclasses.
FIXED = ("projected", "use_bias")


def as_rows(states, width: int | None = None):
    """`[…, width]` → `[rows, width]`: a matrix product then needs no shapes at run time.

    With three axes it takes twenty operations of the graph, with two axes one.
    """
    return ops.reshape(states, (-1, width or states.shape[-1]))


@keras.saving.register_keras_serializable("hub_modules")
class SelfAttention(ArgumentsInConfig, keras.layers.Layer):
    """Multi-head scaled dot-product self-attention with an output projection.

    `softmax(Q Kᵀ / √head_width) V` over the positions that are not padding, heads concatenated,
    times the output kernel (with `projected=False` without it).

    Shapes: hidden states `[batch, time, width]`, mask `[batch, time] bool` (False = padding), or
    `[batch, time, time]` where each position has its own → `[batch, time, width]`. The softmax is
    computed in float32.

    Source: Vaswani et al. 2017, equation 1.
    """

    def __init__(
        self,
        width: int,
        num_heads: int,
        dropout: float,
        projected: bool = True,
        use_bias: bool = True,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.width = width
        self.num_heads = num_heads
        self.dropout = dropout
        self.projected = projected
        self.use_bias = use_bias
        self.query = self._dense("query")
        self.key = self._dense("key")
        self.value = self._dense("value")
        self.output_projection = self._dense("output") if projected else None
        self.dropout_layer = keras.layers.Dropout(dropout, dtype=self.dtype_policy)

    def _dense(self, name: str):
        return keras.layers.Dense(
            self.width,
            use_bias=self.use_bias,
            kernel_initializer=keras.initializers.TruncatedNormal(stddev=0.02),
            name=name,
            dtype=self.dtype_policy,
        )

    def build(self, input_shape=None):
        for dense in (self.query, self.key, self.value, self.output_projection):
            if dense is not None:
                dense.build((None, None, self.width))

    def call(self, states, mask, training=None):
        return self.attend(states, *self.keys_and_values(states), mask, training=training)

    def keys_and_values(self, states) -> tuple:
        """`[batch, time, width]` → keys and values `[batch, heads, time, head_width]`."""
        shape, rows = ops.shape(states)[:2], as_rows(states)
        return self._heads(self.key(rows), shape), self._heads(self.value(rows), shape)

    def attend(self, states, key, value, mask, training=None):
        """The attention of `states` to keys and values, which may be of other positions too."""
        shape = ops.shape(states)[:2]
        head_width = self.width // self.num_heads
        query = self._heads(self.query(as_rows(states)) * head_width**-0.5, shape)
        # [batch, heads, time, keys]
        visible = mask[:, None, None, :] if len(mask.shape) == 2 else mask[:, None]
        mixed = self.mix(query, key, value, visible, training)
        mixed = as_rows(ops.transpose(mixed, (0, 2, 1, 3)), self.width)
        mixed = self.output_projection(mixed) if self.projected else mixed
        return ops.reshape(mixed, (*shape, self.width))

    def mix(self, query, key, value, visible, training):
        """The values, mixed by the softmax of the scores of what is visible.

        Shapes: query `[…, time, head_width]`, scaled; key, value `[…, keys, head_width]`; visible
        broadcast to `[…, time, keys]` → `[…, time, head_width]`.
        """
        scores = ops.cast(self.scores(query, key), "float32")
        scores = ops.where(visible, scores, -1e9)
        weights = ops.softmax(scores)
        weights = self.dropout_layer(ops.cast(weights, self.compute_dtype), training=training)
        return ops.matmul(weights, value)

    def scores(self, query, key):
        """`[…, time, head_width]`, scaled, and `[…, keys, head_width]` → `[…, time, keys]`."""
        return ops.matmul(query, ops.swapaxes(key, -1, -2))

    def _heads(self, rows, shape):
        split = ops.reshape(rows, (*shape, self.num_heads, self.width // self.num_heads))
        return ops.transpose(split, (0, 2, 1, 3))  # [batch, heads, time, head_width]


@keras.saving.register_keras_serializable("hub_modules")
class TransformerBlock(ArgumentsInConfig, keras.layers.Layer):
    """One post-LayerNorm transformer layer.

    `h = LN(x + Attention(x))`, `y = LN(h + W₂ gelu(W₁ h))`, dropout before each sum. With adapters
    `h = LN(x + Adapter₁(Attention(x)))`, `y = LN(h + Adapter₂(W₂ gelu(W₁ h)))`, dropout before
    each of them; parallel adapters read x and h.

    Shapes: hidden states `[batch, time, width]`, mask `[batch, time] bool` →
    `[batch, time, width]`; `added` `[batch, time, width]`, the output of a layer in parallel to the
    block, is a summand of the second sum.

    Source: Devlin et al. 2019; google-research/bert. Adapters: Houlsby et al. 2019, figure 2.
    """

    # Of the linear layers and the LayerNorms.
    use_bias = True

    def __init__(
        self,
        width: int,
        num_heads: int,
        intermediate_width: int,
        activation: str,
        layer_norm_epsilon: float,
        dropout: float,
        attention_dropout: float,
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
        policy = self.dtype_policy
        # Before the attention: the order in which initializers take their seeds stays.
        normal = keras.initializers.TruncatedNormal(stddev=0.02)
        self.attention = self.make_attention()
        self.attention_layer_norm = self.make_norm("attention_layer_norm")
        self.intermediate = self._linear(self.inner_columns, normal, "intermediate")
        self.output_projection = self._linear(width, normal.clone(), "output")
        self.output_layer_norm = self.make_norm("output_layer_norm")
        self.attention_output_dropout = keras.layers.Dropout(dropout, dtype=policy)
        self.output_dropout = keras.layers.Dropout(dropout, dtype=policy)
        self.attention_adapter = self.output_adapter = None

    def make_attention(self) -> SelfAttention:
        """The self-attention, not yet built."""
        return SelfAttention(
            self.width,
            self.num_heads,
            self.attention_dropout,
            use_bias=self.use_bias,
            name="attention",
            dtype=self.dtype_policy,
        )

    def make_norm(self, name: str) -> LayerNorm:
        """A LayerNorm, not yet built."""
        return LayerNorm(
            epsilon=self.layer_norm_epsilon,
            center=self.use_bias,
            name=name,
            dtype=self.dtype_policy,
        )

    def _linear(self, columns: int, initializer, name: str) -> keras.layers.Dense:
        return keras.layers.Dense(
            columns,
            use_bias=self.use_bias,
            kernel_initializer=initializer,
            name=name,
            dtype=self.dtype_policy,
        )

    @property
    def inner_columns(self) -> int:
        """Columns of the first kernel of the feed-forward part."""
        return self.intermediate_width

    def add_adapters(self, settings: BottleneckAdapters) -> None:
        """Gives the built block its two adapters."""
        with extended(self):
            self.attention_adapter = self._adapter(settings, "attention_adapter")
            self.output_adapter = self._adapter(settings, "output_adapter")

    def _adapter(self, settings: BottleneckAdapters, name: str) -> BottleneckAdapter:
        adapter = BottleneckAdapter(
            self.width,
            settings.size,
            "relu" if settings.activation == "relu" else self.activation,
            settings.operation,
            settings.parallel,
            name=name,
            dtype=self.dtype_policy,
        )
        adapter.build((None, None, self.width))
        return adapter

    @property
    def adapter_layers(self) -> list[keras.layers.Layer]:
        """The two adapters, or none."""
        return [part for part in (self.attention_adapter, self.output_adapter) if part is not None]

    @property
    def linear_layers(self) -> dict[str, keras.layers.Dense]:
        """The linear layers by the names of `hub_modules.native.added.settings.TARGETS`."""
        return {
            "query": self.attention.query,
            "key": self.attention.key,
            "value": self.attention.value,
            "attention_output": self.attention.output_projection,
            "intermediate": self.intermediate,
            "output": self.output_projection,
        }

    @property
    def layer_norms(self) -> list[keras.layers.Layer]:
        """The two LayerNorms."""
        return [self.attention_layer_norm, self.output_layer_norm]

    def build(self, input_shape=None):
        states = (None, None, self.width)
        self.attention.build(states)
        self.intermediate.build(states)
        self.output_projection.build((None, None, self.intermediate_width))
        for norm in self.layer_norms:
            norm.build(states)

    def call(self, states, mask, added=None, training=None):
        attended = self.attention(states, mask, training=training)
        return self._above_attention(states, attended, mask, added, training)

    def first(self, states, mask):
        """The first position of a call in inference mode: `[batch, 1, width]`.

        Without adapters that are convolutions, which read its neighbours.
        """
        first, keys_and_values = states[:, :1], self.attention.keys_and_values(states)
        attended = self.attention.attend(first, *keys_and_values, mask, training=False)
        return self._above_attention(first, attended, mask)

    def _above_attention(self, states, attended, mask, added=None, training=False):
        shape = ops.shape(states)
        attended, states = as_rows(attended), as_rows(states)
        attended = self.attention_output_dropout(attended, training=training)
        if self.attention_adapter is not None:
            attended = self._adapted(self.attention_adapter, attended, states, mask)
        states = self.attention_layer_norm(states + attended)
        inner = ACTIVATIONS[self.activation](self.intermediate(states))
        inner = self.output_dropout(self.output_projection(inner), training=training)
        if self.output_adapter is not None:
            inner = self._adapted(self.output_adapter, inner, states, mask)
        if added is not None:
            inner += as_rows(added)
        states = self.output_layer_norm(states + inner)
        return ops.reshape(states, shape)

    def _adapted(self, adapter, rows, read, mask):
        """Rows behind their adapter; `read`: the rows that they were computed of."""
        if adapter.operation == "dense":
            return adapter(rows, read=read)
        shape = (*ops.shape(mask), self.width)
        rows, read = (ops.reshape(one, shape) for one in (rows, read))
        return as_rows(adapter(rows, mask, read), self.width)
