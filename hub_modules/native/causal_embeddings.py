"""The embeddings of a causal transformer, and the output tied to them."""

import keras
import tensorflow as tf
from keras import ops

from hub_modules.native.arguments import ArgumentsInConfig
from hub_modules.native.transformer import as_rows


@keras.saving.register_keras_serializable("hub_modules")
class NewEmbeddings(ArgumentsInConfig, keras.layers.Layer):
    """Rows that the pretrained model lacks: of special tokens, and of segments.

    Each row is drawn from N(0, 0.02²).

    Args:
        new_rows: number of special tokens; their ids follow the vocabulary's.
        segments: number of segments; 0: the model adds no segment embedding.
    """

    def __init__(self, new_rows: int, segments: int, width: int, **kwargs):
        super().__init__(**kwargs)
        self.new_rows = new_rows
        self.segments = segments
        self.width = width

    def build(self, input_shape=None):
        self.word_rows = self._table("words", self.new_rows) if self.new_rows else None
        self.segment_rows = self._table("segments", self.segments) if self.segments else None

    def _table(self, name: str, rows: int):
        return embedding_table(self, name, rows, keras.initializers.RandomNormal(stddev=0.02))


@keras.saving.register_keras_serializable("hub_modules")
class CausalEmbeddings(ArgumentsInConfig, keras.layers.Layer):
    """Sum of word and position embeddings and, where there are segments, segment embeddings.

    `dropout(word[id] + position[t] + segment[type])`, without a LayerNorm.

    Shapes: word_ids, type_ids `[batch, time] int32`, positions `[time]` or `[batch, time] int32` →
    `[batch, time, width]`.

    Args:
        new_rows, segments: as of `NewEmbeddings`.

    Source: Radford et al. 2019, "GPT-2"; openai/gpt-2.
    """

    def __init__(
        self,
        vocabulary_size: int,
        width: int,
        max_positions: int,
        dropout: float,
        new_rows: int,
        segments: int,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.vocabulary_size = vocabulary_size
        self.width = width
        self.max_positions = max_positions
        self.dropout = dropout
        self.new_rows = new_rows
        self.segments = segments
        self.dropout_layer = keras.layers.Dropout(dropout, dtype=self.dtype_policy)
        self.new = None
        if new_rows or segments:
            self.new = NewEmbeddings(new_rows, segments, width, name="new", dtype=self.dtype_policy)

    def build(self, input_shape=None):
        normal = keras.initializers.RandomNormal(stddev=0.02)
        self.word_embeddings = embedding_table(
            self, "word_embeddings", self.vocabulary_size, normal
        )
        self.position_embeddings = embedding_table(
            self, "position_embeddings", self.max_positions, normal.clone()
        )
        if self.new is not None:
            self.new.build()

    def call(self, word_ids, positions, type_ids=None, training=None):
        states = self._words(word_ids) + _rows(self.position_embeddings, positions)
        if self.segments:
            states += _rows(self.new.segment_rows, type_ids)
        return self.dropout_layer(ops.cast(states, self.compute_dtype), training=training)

    def _words(self, word_ids):
        if not self.new_rows:
            return _rows(self.word_embeddings, word_ids)
        known = _rows(self.word_embeddings, ops.minimum(word_ids, self.vocabulary_size - 1))
        # Ids above the last new row are an error of the look-up.
        new = _rows(self.new.word_rows, ops.maximum(word_ids - self.vocabulary_size, 0))
        return ops.where((word_ids < self.vocabulary_size)[..., None], known, new)

    def logits(self, states):
        """Logits of every word and new row: `states · word_embeddingsᵀ`.

        Shapes: `[…, width]` → `[…, vocabulary_size + new_rows] float32`.
        """
        tables = [self.word_embeddings] + ([self.new.word_rows] if self.new_rows else [])
        rows = as_rows(states, self.width)
        scores = [
            tf.matmul(rows, ops.cast(table, rows.dtype), transpose_b=True) for table in tables
        ]
        scores = ops.cast(ops.concatenate(scores, axis=-1), "float32")
        return ops.reshape(scores, (*ops.shape(states)[:-1], scores.shape[-1]))


def embedding_table(layer: keras.layers.Layer, name: str, rows: int, initializer):
    """A weight `[rows, width]` of a layer, looked up in the weights' own precision."""
    # No automatic cast: a few rows are cast after the look-up instead of the whole table.
    return layer.add_weight(
        name=name, shape=(rows, layer.width), initializer=initializer, autocast=False
    )


def _rows(table, ids):
    states = ops.take(table, ids, axis=0)
    return states if table.trainable else ops.stop_gradient(states)
