"""What the native transformers share: settings, layers, names of weights, states."""

import functools
from collections.abc import Callable

import keras
from keras import ops

from hub_modules.native.added.adapters import (
    add_lora,
    check_added,
    extended,
    load_pretrained,
    with_adapter_group,
)
from hub_modules.native.added.lora import low_rank_layers
from hub_modules.native.added.settings import (
    Added,
    BottleneckAdapters,
    Lora,
    TaskAttention,
    is_chosen,
)
from hub_modules.native.arguments import ArgumentsInConfig
from hub_modules.native.given_states import given_states, perturbed
from hub_modules.native.kernels.activations import ACTIVATIONS
from hub_modules.native.kernels.pooled_alone import is_pooled_alone
from hub_modules.native.kernels.recomputation import recomputed
from hub_modules.native.weights import is_trainable, weights_by_name

# The group of what no module stores, where no adaptation has added anything.
NEW_EMBEDDINGS = "new_embeddings"


class TransformerEncoder(ArgumentsInConfig, keras.layers.Layer):
    """Embeddings, and transformer layers above them, each of which returns its hidden states.

    A subclass makes `embeddings` and `blocks` (`make_blocks`), and what it has above them:
    `final_norm`, or `pooler` (`make_pooler`).

    Args:
        activation: "gelu_exact" (erf; HuggingFace checkpoints) or "gelu_tanh"
            (google-research/bert, GPT-2, keras-hub, published Hub modules).
        dropout: dropout rate after the embeddings and each sub-layer.
        attention_dropout: dropout rate of the attention weights.

    Raises:
        ConfigError: as `check_added`.
    """

    # Of `hub_modules.families`.
    family: str
    # Positions that `lower_layers` adds to each text.
    boundary_positions = 0
    final_norm = pooler = None

    def __init__(
        self,
        vocabulary_size: int,
        width: int,
        num_layers: int,
        num_heads: int,
        intermediate_width: int,
        max_positions: int,
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

    def make_pooler(self) -> keras.layers.Dense:
        """The tanh layer on the first position of the top, not yet built."""
        return keras.layers.Dense(
            self.width,
            activation="tanh",
            kernel_initializer=keras.initializers.TruncatedNormal(stddev=0.02),
            name="pooler",
            dtype=self.dtype_policy,
        )

    @property
    def shared_weights(self) -> list[keras.Variable]:
        """Weights of the embeddings that blocks have, too."""
        return []

    @property
    def layer_groups(self) -> list[tuple[str, list[keras.Variable]]]:
        """The layer groups, bottom to top, as (name, weights).

        The final LayerNorm belongs to the top layer. What no module stores is the last group, with
        the LayerNorms that are trained together with it.
        """
        shared = set(map(id, self.shared_weights))
        above = [] if self.pooler is None else [self.pooler]
        groups = [(self.embeddings.name, self.embeddings.weights)]
        for layer in (*self.blocks, *above):
            groups.append((layer.name, [w for w in layer.weights if id(w) not in shared]))
        if self.final_norm is not None:
            groups[-1] = (groups[-1][0], groups[-1][1] + self.final_norm.weights)
        name = NEW_EMBEDDINGS if self.added is None else self.added.group
        return with_adapter_group(groups, [*self.adapter_layers, *self._trained_norms()], name)

    def _trained_norms(self) -> list[keras.layers.Layer]:
        """The LayerNorms, bottom to top, that are trained together with what `add` gave."""
        if self.added is None or isinstance(self.added, Lora | TaskAttention):
            return []
        in_layers = getattr(self.added, "in_layers", None)
        first = getattr(self.embeddings, "layer_norm", None) if in_layers is None else None
        chosen = [block for i, block in enumerate(self.blocks) if is_chosen(in_layers, i)]
        last = self.final_norm if is_chosen(in_layers, self.num_layers - 1) else None
        norms = [first, *(norm for block in chosen for norm in block.layer_norms), last]
        return [norm for norm in norms if norm is not None]

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
        if self.final_norm is not None:
            self.final_norm.build((None, None, self.width))
        if self.pooler is not None:
            self.pooler.build((None, self.width))

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

    def call(self, inputs, training=None):
        return self.encoded(inputs, training)

    def encoded(self, inputs: dict, training, **options) -> dict:
        """The outputs of a call; `options` are those of `states_up_to`."""
        mask = ops.cast(inputs["input_mask"], "bool")
        if is_pooled_alone() and self.pools_first:
            layers, frozen = self.states_up_to(inputs, mask, self.num_layers - 1, training=False)
            layers.append(self.blocks[-1].first(layers[-1], self.visible(mask)))
        else:
            layers, frozen = self.states_up_to(inputs, mask, self.num_layers, training, **options)
        return {"layers": layers, "mask": mask, "pooled": self.pooled(layers[-1], mask, frozen)}

    @property
    def pools_first(self) -> bool:
        """Whether the pooled vector depends on the first position of the top layer alone."""
        has_dense = getattr(self.added, "operation", None) == "dense"
        return self.pooler is not None and (has_dense or isinstance(self.added, Lora | None))

    def pooled(self, top, mask, frozen: bool):
        """`[batch, width]` from the top states; `frozen` says that all layers are."""
        if self.pooler is None:
            return top[:, 0]
        pooled = self.pooler(top[:, 0])
        return ops.stop_gradient(pooled) if frozen and not is_trainable(self.pooler) else pooled

    def embedded(self, inputs: dict, training):
        """The embedding output `[batch, time, width]`."""
        raise NotImplementedError

    def visible(self, mask):
        """What the blocks take as `visible`, from `[batch, time] bool`."""
        return mask

    def states_up_to(
        self, inputs: dict, mask, top: int, training, parallel=None
    ) -> tuple[list, bool]:
        """Hidden states of each layer up to `top`, and whether all of these layers are frozen.

        `final_norm`, where there is one, belongs to the top layer. `parallel` is a layer beside
        each block, whose output is the block's `added`.
        """
        parallel_learns = parallel is not None and is_trainable(parallel)
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
            frozen_so_far = frozen_so_far and not (learns or parallel_learns)
            block_inputs = [states]
            if parallel is not None:
                beside = training and parallel_learns
                block_inputs.append(parallel(states, mask, index=index, training=beside))
            run = functools.partial(_run, block, training and is_trainable(block, shared))
            if self.gradient_checkpointing and training and not frozen_so_far:
                in_slices = not self.supports_jit
                states = recomputed(block, run, block_inputs, visible, in_slices=in_slices)
            else:
                states = run(visible, *block_inputs)
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


def _run(block, training, visible, states, *added):
    return block(states, visible, *added, training=training)
