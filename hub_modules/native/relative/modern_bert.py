"""ModernBERT as a Keras layer that returns the hidden states of all layers."""

import keras
from keras import ops

from hub_modules.native.arguments import ArgumentsInConfig
from hub_modules.native.causal_embeddings import embedding_table
from hub_modules.native.kernels.layer_norm import LayerNorm
from hub_modules.native.relative.modern_bert_block import ModernBertBlock
from hub_modules.native.transformer_encoder import TransformerEncoder


@keras.saving.register_keras_serializable("hub_modules")
class ModernBertEmbeddings(ArgumentsInConfig, keras.layers.Layer):
    """Word embeddings, layer-normalised: `dropout(LayerNorm(word[id]))`; positions are in the
    attention.

    Shapes: word_ids `[batch, time] int32` → `[batch, time, width]`.
    """

    def __init__(
        self,
        vocabulary_size: int,
        width: int,
        layer_norm_epsilon: float,
        dropout: float,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.vocabulary_size = vocabulary_size
        self.width = width
        self.layer_norm_epsilon = layer_norm_epsilon
        self.dropout = dropout
        self.layer_norm = LayerNorm(
            epsilon=layer_norm_epsilon, center=False, name="layer_norm", dtype=self.dtype_policy
        )
        self.dropout_layer = keras.layers.Dropout(dropout, dtype=self.dtype_policy)

    def build(self, input_shape=None):
        self.word_embeddings = embedding_table(
            self,
            "word_embeddings",
            self.vocabulary_size,
            keras.initializers.TruncatedNormal(stddev=0.02),
        )
        self.layer_norm.build((None, None, self.width))

    def call(self, word_ids, training=None):
        states = ops.take(self.word_embeddings, word_ids, axis=0)
        if not self.word_embeddings.trainable:
            # The LayerNorm may be trainable, together with the adapters.
            states = ops.stop_gradient(states)
        states = self.layer_norm(ops.cast(states, self.compute_dtype))
        return self.dropout_layer(states, training=training)


@keras.saving.register_keras_serializable("hub_modules")
class ModernBertEncoder(TransformerEncoder):
    """A ModernBERT that returns the hidden states of every layer.

    Shapes: inputs `input_word_ids`, `input_mask` (1 = token, 0 = padding, at the right), each
    `[batch, time] int32` → `{"layers": [num_layers + 1 times [batch, time, width]], bottom (the
    embedding output) to top (after the final LayerNorm), "mask": [batch, time] bool, "pooled":
    [batch, width]}`, the top state of `[CLS]`. There are no token types.

    Given states and a perturbation: as of `BertEncoder`.

    Masking: padding is never attended to; hidden states at padding are undefined.

    Freezing: as of `CausalEncoder`; the final LayerNorm belongs to the top layer's group.

    Args:
        max_positions: longest row; no weight depends on it.
        global_layers: numbers of the layers, from 0, that attend to the whole row; the others
            attend to positions at most `local_attention // 2` away.
        global_base, local_base: of the wave lengths of their rotary positions.
        dropout: dropout rate inside of the feed-forward part.
        embedding_dropout: dropout rate after the embeddings. The others: see `TransformerEncoder`.

    Attributes:
        added: what `add` gave it: `BottleneckAdapters` (two in each block), a `Lora`, or None.
        gradient_checkpointing: as of `BertEncoder`.

    Source: Warner et al. 2024, "Smarter, Better, Faster, Longer"; answerdotai/ModernBERT.
    """

    family = "modern_bert"

    def __init__(
        self,
        global_layers: list[int],
        local_attention: int = 128,
        global_base: float = 160_000.0,
        local_base: float = 10_000.0,
        layer_norm_epsilon: float = 1e-5,
        dropout: float = 0.0,
        embedding_dropout: float = 0.0,
        attention_dropout: float = 0.0,
        **kwargs,
    ):
        super().__init__(
            layer_norm_epsilon=layer_norm_epsilon,
            dropout=dropout,
            attention_dropout=attention_dropout,
            **kwargs,
        )
        self.global_layers = list(global_layers)
        self.local_attention = local_attention
        self.global_base = global_base
        self.local_base = local_base
        self.embedding_dropout = embedding_dropout
        policy = self.dtype_policy
        self.embeddings = ModernBertEmbeddings(
            self.vocabulary_size,
            self.width,
            layer_norm_epsilon,
            embedding_dropout,
            name="embeddings",
            dtype=policy,
        )
        self.blocks = self.make_blocks(ModernBertBlock, self._attention_of)
        self.final_norm = LayerNorm(
            epsilon=layer_norm_epsilon, center=False, name="final_norm", dtype=policy
        )

    def _attention_of(self, index: int) -> dict:
        is_global = index in self.global_layers
        return {
            "base": self.global_base if is_global else self.local_base,
            "reach": None if is_global else self.local_attention // 2,
            "first": index == 0,
        }

    def embedded(self, inputs: dict, training):
        """See `TransformerEncoder`."""
        return self.embeddings(inputs["input_word_ids"], training=training)
