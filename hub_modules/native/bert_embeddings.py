"""The embeddings of BERT: words, positions and token types."""

import keras
from keras import ops

from hub_modules.native.arguments import ArgumentsInConfig
from hub_modules.native.kernels.layer_norm import LayerNorm


@keras.saving.register_keras_serializable("hub_modules")
class BertEmbeddings(ArgumentsInConfig, keras.layers.Layer):
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
        self.layer_norm = LayerNorm(
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
        tables = (self.word_embeddings, self.position_embeddings, self.token_type_embeddings)
        if not any(table.trainable for table in tables):
            # The LayerNorm may be trainable, together with the adapters.
            states = ops.stop_gradient(states)
        states = self.layer_norm(ops.cast(states, self.compute_dtype))
        return self.dropout_layer(states, training=training)
