"""BERT as an ordinary Keras layer: every layer's states come out, every part can be frozen."""

import keras
from keras import ops

from hub_modules.weights import load_weights_by_name, weights_by_name

ACTIVATIONS = {
    # The same name means two formulas; which one is a property of the weights' source.
    "gelu_exact": lambda x: ops.gelu(x, approximate=False),
    "gelu_tanh": lambda x: ops.gelu(x, approximate=True),
}


@keras.saving.register_keras_serializable("hub_modules")
class BertEmbeddings(keras.layers.Layer):
    """Sum of word, position and token-type embeddings, layer-normalised.

    `LayerNorm(word[id] + position[t] + type[segment])`, then dropout.

    Shapes: word_ids, type_ids `[batch, time] int32` → `[batch, time, width]`.
    """

    def __init__(
        self,
        vocabulary_size: int,
        width: int,
        max_positions: int,
        type_vocabulary_size: int,
        layer_norm_epsilon: float,
        dropout: float,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.vocabulary_size = vocabulary_size
        self.width = width
        self.max_positions = max_positions
        self.type_vocabulary_size = type_vocabulary_size
        self.layer_norm_epsilon = layer_norm_epsilon
        self.dropout = dropout
        self.layer_norm = keras.layers.LayerNormalization(
            epsilon=layer_norm_epsilon, name="layer_norm", dtype=self.dtype_policy
        )
        self.dropout_layer = keras.layers.Dropout(dropout, dtype=self.dtype_policy)

    def build(self, input_shape=None):
        self.word_embeddings = self._table("word_embeddings", self.vocabulary_size)
        self.position_embeddings = self._table("position_embeddings", self.max_positions)
        self.token_type_embeddings = self._table("token_type_embeddings", self.type_vocabulary_size)
        self.layer_norm.build((None, None, self.width))

    def _table(self, name: str, rows: int):
        # No automatic cast: a few rows are cast after the look-up instead of the whole table.
        return self.add_weight(
            name=name,
            shape=(rows, self.width),
            initializer=keras.initializers.TruncatedNormal(stddev=0.02),
            autocast=False,
        )

    def call(self, word_ids, type_ids, training=None):
        time = ops.shape(word_ids)[1]
        states = ops.take(self.word_embeddings, word_ids, axis=0)
        states += self.position_embeddings[:time]
        states += ops.take(self.token_type_embeddings, type_ids, axis=0)
        states = self.layer_norm(ops.cast(states, self.compute_dtype))
        return self.dropout_layer(states, training=training)

    def get_config(self) -> dict:
        return super().get_config() | {
            "vocabulary_size": self.vocabulary_size,
            "width": self.width,
            "max_positions": self.max_positions,
            "type_vocabulary_size": self.type_vocabulary_size,
            "layer_norm_epsilon": self.layer_norm_epsilon,
            "dropout": self.dropout,
        }


@keras.saving.register_keras_serializable("hub_modules")
class SelfAttention(keras.layers.Layer):
    """Multi-head scaled dot-product self-attention with an output projection.

    `softmax(Q Kᵀ / √head_width) V` over the real positions, heads side by side, times the output
    kernel.

    Shapes: states `[batch, time, width]`, mask `[batch, time] bool` (True = real) →
    `[batch, time, width]`. The softmax is computed in float32.

    Source: Vaswani et al. 2017, equation 1.
    """

    def __init__(self, width: int, num_heads: int, dropout: float, **kwargs):
        super().__init__(**kwargs)
        self.width = width
        self.num_heads = num_heads
        self.dropout = dropout
        self.query = self._dense("query")
        self.key = self._dense("key")
        self.value = self._dense("value")
        self.output_projection = self._dense("output")
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
            dense.build((None, None, self.width))

    def call(self, states, mask, training=None):
        head_width = self.width // self.num_heads
        query = self._heads(self.query(states) * head_width**-0.5)
        key = self._heads(self.key(states))
        value = self._heads(self.value(states))
        scores = ops.matmul(query, ops.transpose(key, (0, 1, 3, 2)))
        # [batch, heads, time, time]
        scores = ops.where(mask[:, None, None, :], ops.cast(scores, "float32"), -1e9)
        weights = ops.softmax(scores)
        weights = self.dropout_layer(ops.cast(weights, self.compute_dtype), training=training)
        mixed = ops.transpose(ops.matmul(weights, value), (0, 2, 1, 3))
        shape = ops.shape(states)
        return self.output_projection(ops.reshape(mixed, (shape[0], shape[1], self.width)))

    def _heads(self, states):
        shape = ops.shape(states)
        head_width = self.width // self.num_heads
        split = ops.reshape(states, (shape[0], shape[1], self.num_heads, head_width))
        return ops.transpose(split, (0, 2, 1, 3))  # [batch, heads, time, head_width]

    def get_config(self) -> dict:
        return super().get_config() | {
            "width": self.width,
            "num_heads": self.num_heads,
            "dropout": self.dropout,
        }


@keras.saving.register_keras_serializable("hub_modules")
class TransformerBlock(keras.layers.Layer):
    """One post-LayerNorm transformer layer.

    `h = LN(x + Attention(x))`, `y = LN(h + W₂ gelu(W₁ h))`, dropout before each sum.

    Shapes: states `[batch, time, width]`, mask `[batch, time] bool` → `[batch, time, width]`.

    Source: Devlin et al. 2019; google-research/bert.
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
        normal = keras.initializers.TruncatedNormal(stddev=0.02)
        self.attention = SelfAttention(
            width, num_heads, attention_dropout, name="attention", dtype=policy
        )
        self.attention_layer_norm = keras.layers.LayerNormalization(
            epsilon=layer_norm_epsilon, name="attention_layer_norm", dtype=policy
        )
        self.intermediate = keras.layers.Dense(
            intermediate_width, kernel_initializer=normal, name="intermediate", dtype=policy
        )
        self.output_projection = keras.layers.Dense(
            width, kernel_initializer=normal.clone(), name="output", dtype=policy
        )
        self.output_layer_norm = keras.layers.LayerNormalization(
            epsilon=layer_norm_epsilon, name="output_layer_norm", dtype=policy
        )
        self.attention_output_dropout = keras.layers.Dropout(dropout, dtype=policy)
        self.output_dropout = keras.layers.Dropout(dropout, dtype=policy)

    def build(self, input_shape=None):
        states = (None, None, self.width)
        self.attention.build(states)
        self.attention_layer_norm.build(states)
        self.intermediate.build(states)
        self.output_projection.build((None, None, self.intermediate_width))
        self.output_layer_norm.build(states)

    def call(self, states, mask, training=None):
        attended = self.attention(states, mask, training=training)
        attended = self.attention_output_dropout(attended, training=training)
        states = self.attention_layer_norm(states + attended)
        inner = ACTIVATIONS[self.activation](self.intermediate(states))
        inner = self.output_dropout(self.output_projection(inner), training=training)
        return self.output_layer_norm(states + inner)

    def get_config(self) -> dict:
        return super().get_config() | {
            "width": self.width,
            "num_heads": self.num_heads,
            "intermediate_width": self.intermediate_width,
            "activation": self.activation,
            "layer_norm_epsilon": self.layer_norm_epsilon,
            "dropout": self.dropout,
            "attention_dropout": self.attention_dropout,
        }


@keras.saving.register_keras_serializable("hub_modules")
class BertEncoder(keras.layers.Layer):
    """A BERT that returns the states of every layer.

    Shapes: inputs `input_word_ids`, `input_mask` (1 = real), `input_type_ids`, each
    `[batch, time] int32` → `{"layers": [num_layers + 1 times [batch, time, width]], bottom (the
    embedding output) to top, "mask": [batch, time] bool, "pooled": [batch, width]}`, in the layer's
    compute dtype.

    Masking: padding is never attended to; states at padding positions have no meaning.

    Freezing: a layer group whose `trainable` is False runs in inference mode, and no gradient is
    computed below the lowest trainable group.

    Args:
        activation: "gelu_exact" (erf; HuggingFace checkpoints) or "gelu_tanh"
            (google-research/bert, keras-hub, published Hub modules).
        dropout: share of units dropped after the embeddings and each sub-layer while training.
        attention_dropout: share of attention weights dropped while training.

    Source: Devlin et al. 2019, "BERT".
    """

    def __init__(
        self,
        vocabulary_size: int,
        width: int,
        num_layers: int,
        num_heads: int,
        intermediate_width: int,
        max_positions: int,
        type_vocabulary_size: int = 2,
        activation: str = "gelu_exact",
        layer_norm_epsilon: float = 1e-12,
        dropout: float = 0.1,
        attention_dropout: float = 0.1,
        **kwargs,
    ):
        super().__init__(**kwargs)
        if activation not in ACTIVATIONS:
            raise ValueError(
                f"activation: expected one of {sorted(ACTIVATIONS)}, got {activation!r}"
            )
        if width % num_heads:
            raise ValueError(f"width {width} is not a multiple of num_heads {num_heads}")
        # Batches differ in length; compiling a program for each length costs more than it saves.
        self.supports_jit = False
        self.vocabulary_size = vocabulary_size
        self.width = width
        self.num_layers = num_layers
        self.num_heads = num_heads
        self.intermediate_width = intermediate_width
        self.max_positions = max_positions
        self.type_vocabulary_size = type_vocabulary_size
        self.activation = activation
        self.layer_norm_epsilon = layer_norm_epsilon
        self.dropout = dropout
        self.attention_dropout = attention_dropout
        policy = self.dtype_policy
        self.embeddings = BertEmbeddings(
            vocabulary_size,
            width,
            max_positions,
            type_vocabulary_size,
            layer_norm_epsilon,
            dropout,
            name="embeddings",
            dtype=policy,
        )
        self.blocks = [
            TransformerBlock(
                width,
                num_heads,
                intermediate_width,
                activation,
                layer_norm_epsilon,
                dropout,
                attention_dropout,
                name=f"layer_{index}",
                dtype=policy,
            )
            for index in range(num_layers)
        ]
        self.pooler = keras.layers.Dense(
            width,
            activation="tanh",
            kernel_initializer=keras.initializers.TruncatedNormal(stddev=0.02),
            name="pooler",
            dtype=policy,
        )

    def build(self, input_shape=None):
        self.embeddings.build()
        for block in self.blocks:
            block.build()
        self.pooler.build((None, self.width))

    @property
    def group_layers(self) -> list[tuple[str, keras.layers.Layer]]:
        """The layer groups, bottom to top, as (name, Keras layer)."""
        return [
            ("embeddings", self.embeddings),
            *[(block.name, block) for block in self.blocks],
            ("pooler", self.pooler),
        ]

    def call(self, inputs, training=None):
        mask = ops.cast(inputs["input_mask"], "bool")
        states = self.embeddings(
            inputs["input_word_ids"],
            inputs["input_type_ids"],
            training=training and self.embeddings.trainable,
        )
        frozen_so_far = not self.embeddings.trainable
        states = ops.stop_gradient(states) if frozen_so_far else states
        layers = [states]
        for block in self.blocks:
            states = block(states, mask, training=training and block.trainable)
            frozen_so_far = frozen_so_far and not block.trainable
            states = ops.stop_gradient(states) if frozen_so_far else states
            layers.append(states)
        pooled = self.pooler(states[:, 0])
        if frozen_so_far and not self.pooler.trainable:
            pooled = ops.stop_gradient(pooled)
        return {"layers": layers, "mask": mask, "pooled": pooled}

    def weights_by_name(self) -> dict:
        """Every weight by its name in a module, as `layer_0/attention/query/kernel`."""
        return weights_by_name(self, first="embeddings/word_embeddings")

    def load_weights_by_name(self, arrays: dict) -> None:
        """Sets every weight from `{name: array}`; see `hub_modules.weights`."""
        load_weights_by_name(self.weights_by_name(), arrays)

    def get_config(self) -> dict:
        return super().get_config() | {
            "vocabulary_size": self.vocabulary_size,
            "width": self.width,
            "num_layers": self.num_layers,
            "num_heads": self.num_heads,
            "intermediate_width": self.intermediate_width,
            "max_positions": self.max_positions,
            "type_vocabulary_size": self.type_vocabulary_size,
            "activation": self.activation,
            "layer_norm_epsilon": self.layer_norm_epsilon,
            "dropout": self.dropout,
            "attention_dropout": self.attention_dropout,
        }
