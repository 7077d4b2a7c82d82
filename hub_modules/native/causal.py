"""GPT-2 as a Keras layer that returns the hidden states of all layers; any part can be frozen."""

from collections.abc import Callable, Sequence

import keras
import tensorflow as tf
from keras import ops

from hub_modules.native.causal_block import CausalBlock
from hub_modules.native.causal_embeddings import CausalEmbeddings
from hub_modules.native.kernels.layer_norm import LayerNorm
from hub_modules.native.transformer_encoder import TransformerEncoder
from hub_modules.native.weights import is_trainable


@keras.saving.register_keras_serializable("hub_modules")
class CausalEncoder(TransformerEncoder):
    """A transformer that reads from left to right and returns the hidden states of every layer.

    Shapes: inputs `input_word_ids`, `input_mask` (1 = token, 0 = padding, at the right) and, where
    there are segments, `input_type_ids`, each `[batch, time] int32` → `{"layers": [num_layers + 1
    times [batch, time, width]], bottom (the embedding output) to top (after the final LayerNorm),
    "mask": [batch, time] bool, "pooled": [batch, width]}`, the top state of each row's last token.

    Given states and a perturbation: as of `BertEncoder`.

    Masking: a position attends to itself and to tokens before it, never to padding; hidden states
    at padding are undefined.

    Freezing: a layer without trainable weights runs in inference mode, and no gradient is computed
    below the lowest trainable one. The final LayerNorm belongs to the top layer's group. New rows
    and segments, which no module stores, are the last group, `new_embeddings`; with adapters or
    LoRA they are in the group `adapters` or `lora`. The LayerNorms of the layers with adapters are
    in `adapters` too.

    Args:
        new_rows: number of additional word embeddings, for special tokens; their ids follow those
            of the vocabulary.
        segments: number of segment embeddings, which are added to each token's by its
            `input_type_ids`; 0: none. The others: see `TransformerEncoder`.

    Attributes:
        added: what `add` gave it: `BottleneckAdapters` (two in each block; see `CausalBlock`), a
            `Lora`, or None.
        gradient_checkpointing: as of `BertEncoder`.

    Source: Radford et al. 2019, "Language Models are Unsupervised Multitask Learners".
    """

    family = "causal"

    def __init__(
        self,
        activation: str = "gelu_tanh",
        layer_norm_epsilon: float = 1e-5,
        new_rows: int = 0,
        segments: int = 0,
        **kwargs,
    ):
        super().__init__(activation=activation, layer_norm_epsilon=layer_norm_epsilon, **kwargs)
        self.new_rows = new_rows
        self.segments = segments
        policy = self.dtype_policy
        self.embeddings = CausalEmbeddings(
            self.vocabulary_size,
            self.width,
            self.max_positions,
            self.dropout,
            new_rows,
            segments,
            name="embeddings",
            dtype=policy,
        )
        self.blocks = self.make_blocks(CausalBlock)
        self.final_norm = LayerNorm(epsilon=layer_norm_epsilon, name="final_norm", dtype=policy)

    @property
    def adapter_layers(self) -> list[keras.layers.Layer]:
        """What no module stores: new embeddings, and adapters or LoRA, bottom to top."""
        new = [] if self.embeddings.new is None else [self.embeddings.new]
        return new + super().adapter_layers

    def pooled(self, top, mask, frozen: bool):
        """The top state of each row's last token."""
        return last_states(top, mask)

    def logits(self, states):
        """Logits of the next word, tied to the word embeddings: see `CausalEmbeddings.logits`.

        Shapes: top hidden states `[…, width]` → `[…, vocabulary_size + new_rows] float32`.
        """
        return self.embeddings.logits(states)

    def step(self, inputs: dict, cache: dict | None = None) -> tuple:
        """Logits of the word after `inputs`, which follow what the cache holds; in inference mode.

        The first call takes the beginnings of the texts, each later one usually one token a row:
        equal to a call on the whole rows, without computing the positions before again.

        Shapes: inputs as of a call, `[batch, time]`; a row's tokens come after its tokens of the
        calls before, whatever padding was between → logits `[batch, vocabulary_size + new_rows]
        float32` after each row's last token, and the cache: `mask` `[batch, positions] bool` and,
        for each layer, `past`: keys and values `[batch, heads, positions, head_width]`.
        """
        states, cache = self.states_after(inputs, cache)
        mask = ops.cast(inputs["input_mask"], "bool")
        return self.logits(last_states(states, mask)), cache

    def states_after(
        self,
        inputs: dict,
        cache: dict | None = None,
        between: Sequence[Callable] | None = None,
        training=False,
    ) -> tuple:
        """As `step`, but the top states of `inputs`, `[batch, time, width]`, in place of logits.

        Args:
            between: of each layer what is between its two parts: see `CausalBlock`.
            training: whether there is dropout, in layers with trainable weights.
        """
        mask = ops.cast(inputs["input_mask"], "bool")
        cache = self._empty_cache(ops.shape(mask)[0]) if cache is None else cache
        before = ops.shape(cache["mask"])[1]
        seen = ops.concatenate([cache["mask"], mask], axis=1)
        positions = ops.maximum(ops.cumsum(ops.cast(seen, "int32"), axis=1) - 1, 0)[:, before:]
        visible = _not_later(seen, before)
        states, past = self._stepped(inputs, positions, visible, cache, between, training)
        return states, {"mask": seen, "past": past}

    def branches_after(self, inputs: dict, branches, cache: dict, training=False):
        """The top states of several continuations of the same beginning, each as if it were alone.

        The branches of a row are read as one, one behind the other: neither is the cache copied for
        each, nor are they padded to one length. A position attends to the beginning and to its own
        branch.

        Shapes: inputs as of a call and branches, the number of each token's from 0 on, `[batch,
        time] int32`; cache of `states_after`, with the beginnings → `[batch, time, width]`.
        """
        begun = ops.sum(ops.cast(cache["mask"], "int32"), axis=1)[:, None]
        together = branches[:, :, None] == branches[:, None, :]
        own = ops.logical_and(_not_later(inputs["input_mask"] > 0), together)
        positions = begun + ops.maximum(ops.sum(ops.cast(own, "int32"), axis=2) - 1, 0)
        before = ops.repeat(cache["mask"][:, None], ops.shape(branches)[1], axis=1)
        visible = ops.concatenate([before, own], axis=2)
        return self._stepped(inputs, positions, visible, cache, None, training)[0]

    def _stepped(self, inputs, positions, visible, cache, between, training) -> tuple:
        """The top states of `inputs`, and the keys and values with theirs behind."""
        states = self.embeddings(
            inputs["input_word_ids"],
            positions,
            inputs.get("input_type_ids"),
            training=training and is_trainable(self.embeddings),
        )
        past = []
        parts = between or [None] * self.num_layers
        for block, block_past, part in zip(self.blocks, cache["past"], parts, strict=True):
            learns = training and is_trainable(block)
            states, block_past = block.step(states, visible, block_past, part, learns)
            past.append(block_past)
        return self.final_norm(states), past

    def _empty_cache(self, batch) -> dict:
        shape = (batch, self.num_heads, 0, self.width // self.num_heads)
        nothing = ops.zeros(shape, self.compute_dtype)
        return {
            "mask": ops.zeros((batch, 0), "bool"),
            "past": [(nothing, nothing)] * self.num_layers,
        }

    def embedded(self, inputs: dict, training):
        """See `TransformerEncoder`."""
        positions = ops.arange(ops.shape(inputs["input_word_ids"])[1])
        types = inputs.get("input_type_ids")
        return self.embeddings(inputs["input_word_ids"], positions, types, training=training)

    def visible(self, mask):
        """A position attends to itself and to tokens before it."""
        return _not_later(mask)


def last_states(states, mask):
    """The state of each row's last token: `[batch, time, width]`, `[batch, time] bool` →
    `[batch, width]`."""
    last = ops.maximum(ops.sum(ops.cast(mask, "int32"), axis=1) - 1, 0)
    return tf.gather(states, last, batch_dims=1)


def _not_later(mask, first=0):
    """Which positions each one from `first` on attends to: `[batch, time] bool` →
    `[batch, time − first, time] bool`."""
    places = ops.arange(ops.shape(mask)[1])
    return ops.logical_and(places[None, :] <= places[first:, None], mask[:, None, :])
