"""BERT as an ordinary Keras layer: every layer's states come out, every part can be frozen."""

import keras
from keras import ops

from hub_modules.transformer import ACTIVATIONS, TransformerBlock
from hub_modules.weights import learns, load_weights_by_name, weights_by_name


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
class BertEncoder(keras.layers.Layer):
    """A BERT that returns the states of every layer.

    Shapes: inputs `input_word_ids`, `input_mask` (1 = real), `input_type_ids`, each
    `[batch, time] int32` → `{"layers": [num_layers + 1 times [batch, time, width]], bottom (the
    embedding output) to top, "mask": [batch, time] bool, "pooled": [batch, width]}`, in the layer's
    compute dtype.

    Masking: padding is never attended to; states at padding positions have no meaning.

    Freezing: a layer group without trainable weights runs in inference mode, and no gradient is
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
    def layer_groups(self) -> list[tuple[str, list[keras.Variable]]]:
        """The layer groups, bottom to top, as (name, weights)."""
        layers = [self.embeddings, *self.blocks, self.pooler]
        return [(layer.name, layer.weights) for layer in layers]

    def call(self, inputs, training=None):
        mask = ops.cast(inputs["input_mask"], "bool")
        states = self.embeddings(
            inputs["input_word_ids"],
            inputs["input_type_ids"],
            training=training and learns(self.embeddings),
        )
        frozen_so_far = not learns(self.embeddings)
        states = ops.stop_gradient(states) if frozen_so_far else states
        layers = [states]
        for block in self.blocks:
            states = block(states, mask, training=training and learns(block))
            frozen_so_far = frozen_so_far and not learns(block)
            states = ops.stop_gradient(states) if frozen_so_far else states
            layers.append(states)
        pooled = self.pooler(states[:, 0])
        if frozen_so_far and not learns(self.pooler):
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
