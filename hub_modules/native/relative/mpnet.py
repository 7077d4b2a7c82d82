"""MPNet as a Keras layer: BERT with relative positions in the attention, without token types."""

import keras
import numpy as np
from keras import ops

from hub_modules.native.arguments import ArgumentsInConfig
from hub_modules.native.causal_embeddings import embedding_table
from hub_modules.native.kernels.layer_norm import LayerNorm
from hub_modules.native.transformer import FIXED, SelfAttention, TransformerBlock
from hub_modules.native.transformer_encoder import TransformerEncoder

# Distances that are told apart; rows of the positions that no token has: padding begins at 1.
FARTHEST, UNUSED_POSITIONS = 128, 2


@keras.saving.register_keras_serializable("hub_modules")
class RelativePositions(ArgumentsInConfig, keras.layers.Layer):
    """A summand of the attention scores for each distance of two positions, as T5's.

    Half of the buckets are for positions behind, half for those before; half of either is for one
    distance each, the rest for ranges whose bounds grow by a factor, up to 128 and beyond.

    Source: Raffel et al. 2020, section 2.1; Song et al. 2020, "MPNet".
    """

    def __init__(self, num_buckets: int, num_heads: int, **kwargs):
        super().__init__(**kwargs)
        self.num_buckets = num_buckets
        self.num_heads = num_heads

    def build(self, input_shape=None):
        self.table = self.add_weight(
            name="table",
            shape=(self.num_buckets, self.num_heads),
            initializer=keras.initializers.TruncatedNormal(stddev=0.02),
            autocast=False,
        )

    def summands(self, queries, keys):
        """Numbers of positions → `[1, heads, queries, keys] float32`."""
        buckets = ops.convert_to_tensor(buckets_of_distances(self.num_buckets))
        distance = ops.arange(keys)[None, :] - ops.arange(queries)[:, None]
        bucket = ops.take(buckets, ops.clip(distance, -FARTHEST, FARTHEST) + FARTHEST)
        table = self.table if self.table.trainable else ops.stop_gradient(self.table)
        rows = ops.take(table, bucket, axis=0)
        return ops.transpose(rows, (2, 0, 1))[None]


def buckets_of_distances(num_buckets: int) -> np.ndarray:
    """The bucket of each distance (key − query) from −`FARTHEST` to `FARTHEST`, `int32`."""
    half, exact = num_buckets // 2, num_buckets // 4
    far = np.arange(FARTHEST + 1, dtype="float32")
    shares = np.log(np.maximum(far, 1) / np.float32(exact)) / np.float32(np.log(FARTHEST / exact))
    ranges = exact + (shares * np.float32(half - exact)).astype("int32")
    of_distance = np.where(far < exact, far, np.minimum(ranges, half - 1)).astype("int32")
    return np.concatenate([of_distance[:0:-1], of_distance + half * (far > 0).astype("int32")])


@keras.saving.register_keras_serializable("hub_modules")
class RelativeAttention(SelfAttention):
    """Self-attention with a summand for each distance of two positions, which all layers share.

    Shapes: as of `SelfAttention`.

    Args:
        positions: the layer of the summands, built elsewhere.
    """

    fixed_arguments = FIXED

    def __init__(
        self,
        width: int,
        num_heads: int,
        dropout: float,
        positions: RelativePositions | None = None,
        **kwargs,
    ):
        super().__init__(width, num_heads, dropout, **kwargs)
        self.positions = positions

    def scores(self, query, key):
        """See `SelfAttention`."""
        scores = ops.cast(super().scores(query, key), "float32")
        return scores + self.positions.summands(ops.shape(query)[2], ops.shape(key)[2])


@keras.saving.register_keras_serializable("hub_modules")
class MPNetBlock(TransformerBlock):
    """A `TransformerBlock` with relative positions.

    Args:
        positions: as of `RelativeAttention`.
    """

    def __init__(self, *, positions: RelativePositions | None = None, **kwargs):
        # Among the parts of the block, so that recomputing a layer gives its gradient.
        self.positions = positions
        super().__init__(**kwargs)

    def make_attention(self) -> RelativeAttention:
        """The self-attention, not yet built."""
        return RelativeAttention(
            self.width,
            self.num_heads,
            self.attention_dropout,
            self.positions,
            name="attention",
            dtype=self.dtype_policy,
        )


@keras.saving.register_keras_serializable("hub_modules")
class MPNetEmbeddings(ArgumentsInConfig, keras.layers.Layer):
    """Sum of word and position embeddings, layer-normalised, and the summands of the attention.

    `LayerNorm(word[id] + position[t + 2])`, then dropout.

    Shapes: word_ids `[batch, time] int32` → `[batch, time, width]`.

    Source: Song et al. 2020, "MPNet"; microsoft/MPNet.
    """

    def __init__(
        self,
        vocabulary_size: int,
        width: int,
        max_positions: int,
        num_buckets: int,
        num_heads: int,
        layer_norm_epsilon: float,
        dropout: float,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.vocabulary_size = vocabulary_size
        self.width = width
        self.max_positions = max_positions
        self.num_buckets = num_buckets
        self.num_heads = num_heads
        self.layer_norm_epsilon = layer_norm_epsilon
        self.dropout = dropout
        policy = self.dtype_policy
        self.relative_positions = RelativePositions(
            num_buckets, num_heads, name="relative_positions", dtype=policy
        )
        self.layer_norm = LayerNorm(epsilon=layer_norm_epsilon, name="layer_norm", dtype=policy)
        self.dropout_layer = keras.layers.Dropout(dropout, dtype=policy)

    def build(self, input_shape=None):
        rows = self.max_positions + UNUSED_POSITIONS
        normal = keras.initializers.TruncatedNormal(stddev=0.02)
        self.word_embeddings = embedding_table(
            self, "word_embeddings", self.vocabulary_size, normal
        )
        self.position_embeddings = embedding_table(
            self, "position_embeddings", rows, normal.clone()
        )
        self.relative_positions.build()
        self.layer_norm.build((None, None, self.width))

    def call(self, word_ids, training=None):
        end = UNUSED_POSITIONS + ops.shape(word_ids)[1]
        states = ops.take(self.word_embeddings, word_ids, axis=0)
        states += self.position_embeddings[UNUSED_POSITIONS:end]
        if not (self.word_embeddings.trainable or self.position_embeddings.trainable):
            # The LayerNorm may be trainable, together with the adapters.
            states = ops.stop_gradient(states)
        states = self.layer_norm(ops.cast(states, self.compute_dtype))
        return self.dropout_layer(states, training=training)


@keras.saving.register_keras_serializable("hub_modules")
class MPNetEncoder(TransformerEncoder):
    """An MPNet that returns the hidden states of every layer.

    Shapes: inputs `input_word_ids`, `input_mask` (1 = token, 0 = padding, at the right), each
    `[batch, time] int32` → `{"layers": [num_layers + 1 times [batch, time, width]], bottom (the
    embedding output) to top, "mask": [batch, time] bool, "pooled": [batch, width]}`, the tanh of a
    dense layer on `<s>`. There are no token types.

    Given states, perturbation, masking, freezing, adapters and LoRA: as of `BertEncoder`. The
    summands of the attention, which all layers share, are in the group of the embeddings.

    Args: `num_buckets` of `RelativePositions`, and those of `TransformerEncoder`.

    Attributes:
        added: what `add` gave it: `BottleneckAdapters` (two in each block), a `Lora`, or None.
        gradient_checkpointing: as of `BertEncoder`.

    Source: Song et al. 2020, "MPNet: Masked and Permuted Pre-training".
    """

    family = "mpnet"

    def __init__(self, num_buckets: int = 32, **kwargs):
        super().__init__(**kwargs)
        self.num_buckets = num_buckets
        self.embeddings = MPNetEmbeddings(
            self.vocabulary_size,
            self.width,
            self.max_positions,
            num_buckets,
            self.num_heads,
            self.layer_norm_epsilon,
            self.dropout,
            name="embeddings",
            dtype=self.dtype_policy,
        )
        positions = self.embeddings.relative_positions
        self.blocks = self.make_blocks(MPNetBlock, lambda index: {"positions": positions})
        self.pooler = self.make_pooler()

    @property
    def shared_weights(self) -> list[keras.Variable]:
        """See `TransformerEncoder`."""
        return self.embeddings.relative_positions.weights

    def embedded(self, inputs: dict, training):
        """See `TransformerEncoder`."""
        return self.embeddings(inputs["input_word_ids"], training=training)
