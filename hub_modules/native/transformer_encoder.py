"""What the native transformers share: settings, layers, names of weights, states."""

import functools
from collections.abc import Callable
from typing import Any

import keras
from keras import ops

from hub_modules.native.added.adapters import add_lora, check_added, extended, load_pretrained
from hub_modules.native.added.lora import low_rank_layers
from hub_modules.native.added.settings import (
    Added,
    BottleneckAdapters,
    Lora,
    is_chosen,
)
from hub_modules.native.given_states import given_states, perturbed
from hub_modules.native.kernels.activations import ACTIVATIONS
from hub_modules.native.kernels.recomputation import recomputed
from hub_modules.native.weights import is_trainable, weights_by_name


class TransformerEncoder(keras.layers.Layer):
    """Embeddings, and transformer layers above them, each of which returns its hidden states.

    A subclass makes `embeddings` and `blocks` (`make_blocks`), what is above them
    (`build_top`), and `states_up_to`.

    Args:
        family: for what adapters there are; the others are the subclass's.

    Raises:
        ConfigError: as `check_added`.
    """

    # Positions that `lower_layers` adds to each text.
    boundary_positions = 0
    final_norm = None

    def __init__(
        self,
        family: str,
        vocabulary_size: int,
        width: int,
        num_layers: int,
        num_heads: int,
        intermediate_width: int,
        max_positions: int,
        activation: str,
        layer_norm_epsilon: float,
        dropout: float,
        attention_dropout: float,
        **kwargs,
    ):
        super().__init__(**kwargs)
        if activation not in ACTIVATIONS:
            raise ValueError(
                f"activation: expected one of {sorted(ACTIVATIONS)}, got {activation!r}"
            )
        if width % num_heads:
            raise ValueError(f"width {width} is not a multiple of num_heads {num_heads}")
        self.family = family
        # Batches differ in length; compiling for each length costs more than it saves.
        self.supports_jit = False
        self.vocabulary_size = vocabulary_size
        self.width = width
        self.num_layers = num_layers
        self.num_heads = num_heads
        self.intermediate_width = intermediate_width
        self.max_positions = max_positions
        self.activation = activation
        self.layer_norm_epsilon = layer_norm_epsilon
        self.dropout = dropout
        self.attention_dropout = attention_dropout
        self.added: Added | None = None
        self.gradient_checkpointing = False

    def make_blocks(
        self, block: type, more: Callable[[int], dict] = lambda index: {}
    ) -> list[keras.layers.Layer]:
        """The transformer layers, `layer_0` at the bottom.

        Args:
            more: the number of a layer → its arguments beside those that all have.
        """
        return [
            block(
                width=self.width,
                num_heads=self.num_heads,
                intermediate_width=self.intermediate_width,
                activation=self.activation,
                layer_norm_epsilon=self.layer_norm_epsilon,
                dropout=self.dropout,
                attention_dropout=self.attention_dropout,
                **more(index),
                name=f"layer_{index}",
                dtype=self.dtype_policy,
            )
            for index in range(self.num_layers)
        ]

    @property
    def shared_weights(self) -> list[keras.Variable]:
        """Weights that blocks have, too, whose learning is no block's own."""
        return []

    @property
    def adapter_layers(self) -> list[keras.layers.Layer]:
        """The adapters or LoRA's matrices, bottom to top; no module stores them."""
        if isinstance(self.added, Lora):
            return low_rank_layers(self)
        return [adapter for block in self.blocks for adapter in block.adapter_layers]

    @property
    def num_states(self) -> int:
        """Number of hidden states that a call returns: one a layer, and the embedding output."""
        return self.num_layers + 1

    @property
    def states_width(self) -> int:
        """Width of each hidden state."""
        return self.width

    def build(self, input_shape=None):
        self.embeddings.build()
        for block in self.blocks:
            block.build()
        self.build_top()

    def add(self, added: Added) -> None:
        """Gives the built encoder what an adaptation adds, once.

        Raises:
            ConfigError: as `check_added`.
        """
        check_added(added, self.family, self.num_layers)
        with extended(self):
            if isinstance(added, BottleneckAdapters):
                for index, block in enumerate(self.blocks):
                    if is_chosen(added.in_layers, index):
                        block.add_adapters(added)
            elif isinstance(added, Lora):
                add_lora(self.blocks, added)
            else:
                self.add_in_parallel(added)
        self.added = added

    def build_top(self) -> None:
        """Builds what is beside embeddings and blocks."""
        raise NotImplementedError

    def norms_of_blocks(self, in_layers: tuple[int, ...] | None) -> list[keras.layers.Layer]:
        """The LayerNorms of some layers (None: of all), bottom to top."""
        return [
            norm
            for index, block in enumerate(self.blocks)
            if is_chosen(in_layers, index)
            for norm in block.layer_norms
        ]

    def embedded(self, inputs: dict, training):
        """The embedding output `[batch, time, width]`."""
        raise NotImplementedError

    def visible(self, mask):
        """What the blocks take as `visible`, from `[batch, time] bool`."""
        return mask

    def states_up_to(self, inputs: dict, mask, top: int, training) -> tuple[list, bool]:
        """Hidden states of each layer up to `top`, and whether all of these layers are frozen.

        `final_norm`, where there is one, belongs to the top layer.
        """
        names = [layer.name for layer in (self.embeddings, *self.blocks)]
        first, states = given_states(inputs, names)
        frozen_so_far = states is not None or not is_trainable(self.embeddings)
        if states is None:
            states = self.embedded(inputs, training and is_trainable(self.embeddings))
        states = ops.stop_gradient(states) if frozen_so_far else states
        states, frozen_so_far = perturbed(inputs, states, frozen_so_far)
        layers, visible, shared = [states], self.visible(mask), self.shared_weights
        for index in range(first, top):
            block = self.blocks[index]
            norm = self.final_norm if index == self.num_layers - 1 else None
            learns = is_trainable(block) or (norm is not None and is_trainable(norm))
            frozen_so_far = frozen_so_far and not learns
            run = functools.partial(_run, block, training and is_trainable(block, shared))
            if self.gradient_checkpointing and training and not frozen_so_far:
                in_slices = not self.supports_jit
                states = recomputed(block, run, [states], visible, in_slices=in_slices)
            else:
                states = run(visible, states)
            states = states if norm is None else norm(states)
            states = ops.stop_gradient(states) if frozen_so_far else states
            layers.append(states)
        return layers, frozen_so_far

    def lower_layers(self, inputs: dict, top: int) -> dict:
        """Hidden states of the layers up to number `top` (0: the embeddings), in inference mode.

        Each can be an input of a later call: see "Given states" of `BertEncoder`. The keys are
        those of a call, without `pooled`.
        """
        mask = ops.cast(inputs["input_mask"], "bool")
        return {"layers": self.states_up_to(inputs, mask, top, training=False)[0], "mask": mask}

    def weights_by_name(self) -> dict:
        """Every weight by its name in a module, as `layer_0/attention/query/kernel`.

        What no module stores is named in the same way: `layer_0/attention_adapter/down/kernel`,
        `projected_attention/layer_0/query/kernel`, `layer_0_query_lora/a`, `embeddings/new/words`.
        """
        return weights_by_name(self, first="embeddings/word_embeddings")

    def load_weights_by_name(self, arrays: dict) -> None:
        """Sets every weight that a module stores from `{name: array}`; see `load_pretrained`."""
        load_pretrained(self, arrays)

    def get_config(self) -> dict[str, Any]:
        return super().get_config() | {
            "vocabulary_size": self.vocabulary_size,
            "width": self.width,
            "num_layers": self.num_layers,
            "num_heads": self.num_heads,
            "intermediate_width": self.intermediate_width,
            "max_positions": self.max_positions,
            "activation": self.activation,
            "layer_norm_epsilon": self.layer_norm_epsilon,
            "dropout": self.dropout,
            "attention_dropout": self.attention_dropout,
        }


def _run(block, training, visible, states):
    return block(states, visible, training=training)
