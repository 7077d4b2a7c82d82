"""BERT as an ordinary Keras layer: every layer's states come out, every part can be frozen."""

import functools

import keras
from keras import ops

from hub_modules.activations import ACTIVATIONS
from hub_modules.adapters import check_adapters, load_pretrained, with_adapter_group
from hub_modules.bert_embeddings import BertEmbeddings
from hub_modules.given_states import given_states
from hub_modules.projected_attention import ProjectedAttention
from hub_modules.recomputation import recomputed
from hub_modules.transformer import TransformerBlock
from hub_modules.weights import learns, weights_by_name


@keras.saving.register_keras_serializable("hub_modules")
class BertEncoder(keras.layers.Layer):
    """A BERT that returns the states of every layer.

    Shapes: inputs `input_word_ids`, `input_mask` (1 = real), `input_type_ids`, each
    `[batch, time] int32` → `{"layers": [num_layers + 1 times [batch, time, width]], bottom (the
    embedding output) to top, "mask": [batch, time] bool, "pooled": [batch, width]}`, in the layer's
    compute dtype.

    Given states: with `states_of_layer_2` `[batch, time, width]` in the inputs, for one, the
    encoder starts above that layer, and `layers` begins with it. See `lower_layers`.

    Masking: padding is never attended to; states at padding positions have no meaning.

    Freezing: a layer without trainable weights runs in inference mode, and no gradient is computed
    below the lowest one that has any. With adapters all LayerNorms train with them: they are in the
    group `adapters`, the last, and in no other. The lowest of them stands above the embedding
    tables, which get no gradient where only adapters learn.

    Args:
        activation: "gelu_exact" (erf; HuggingFace checkpoints) or "gelu_tanh"
            (google-research/bert, keras-hub, published Hub modules).
        dropout: share of units dropped after the embeddings and each sub-layer while training.
        attention_dropout: share of attention weights dropped while training.
        adapters: "bottleneck" (two in each block; see `TransformerBlock`), "projected_attention"
            (one in parallel to each block; see `ProjectedAttention`), or None.
        adapter_size: width of the adapters, at least 1; 64 as in adapter-bert.

    Attributes:
        gradient_checkpointing: whether of each layer below which something learns only the input is
            kept for the gradient, and the rest computed again; False. The numbers are the same.

    Raises:
        ConfigError: the adapters are of an unknown kind, or their size is out of range.

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
        adapters: str | None = None,
        adapter_size: int = 64,
        **kwargs,
    ):
        super().__init__(**kwargs)
        if activation not in ACTIVATIONS:
            raise ValueError(
                f"activation: expected one of {sorted(ACTIVATIONS)}, got {activation!r}"
            )
        if width % num_heads:
            raise ValueError(f"width {width} is not a multiple of num_heads {num_heads}")
        check_adapters("bert", adapters, adapter_size)
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
        self.adapters = adapters
        self.adapter_size = adapter_size
        self.gradient_checkpointing = False
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
                adapter_size if adapters == "bottleneck" else None,
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
        self.projected_attention = None
        if adapters == "projected_attention":
            self.projected_attention = ProjectedAttention(
                width,
                adapter_size,
                num_layers,
                activation,
                attention_dropout,
                name="projected_attention",
                dtype=policy,
            )

    def build(self, input_shape=None):
        self.embeddings.build()
        for block in self.blocks:
            block.build()
        self.pooler.build((None, self.width))
        if self.projected_attention is not None:
            self.projected_attention.build()

    @property
    def adapter_layers(self) -> list[keras.layers.Layer]:
        """The adapters, bottom to top: what a module knows nothing of."""
        if self.projected_attention is not None:
            return [self.projected_attention]
        return [adapter for block in self.blocks for adapter in block.adapter_layers]

    @property
    def layer_groups(self) -> list[tuple[str, list[keras.Variable]]]:
        """The layer groups, bottom to top, as (name, weights)."""
        layers = [self.embeddings, *self.blocks, self.pooler]
        groups = [(layer.name, layer.weights) for layer in layers]
        if self.adapters is None:
            return groups
        norms = [norm for block in self.blocks for norm in block.layer_norms]
        norms.insert(0, self.embeddings.layer_norm)
        return with_adapter_group(groups, [*self.adapter_layers, *norms])

    def call(self, inputs, training=None):
        mask = ops.cast(inputs["input_mask"], "bool")
        layers, frozen = self._states_up_to(inputs, mask, self.num_layers, training)
        pooled = self.pooler(layers[-1][:, 0])
        if frozen and not learns(self.pooler):
            pooled = ops.stop_gradient(pooled)
        return {"layers": layers, "mask": mask, "pooled": pooled}

    def lower_layers(self, inputs, top: int) -> dict:
        """What the layers up to number `top` (0: the embeddings) say, in inference mode.

        Each can be given to a later call: see the class. The keys are those of a call, without
        `pooled`.
        """
        mask = ops.cast(inputs["input_mask"], "bool")
        return {"layers": self._states_up_to(inputs, mask, top, training=False)[0], "mask": mask}

    def _states_up_to(self, inputs, mask, top: int, training) -> tuple[list, bool]:
        """The states of each layer up to `top`, and whether all of these layers are frozen."""
        names = [layer.name for layer in (self.embeddings, *self.blocks)]
        first, states = given_states(inputs, names)
        frozen_so_far = states is not None or not learns(self.embeddings)
        if states is None:
            states = self.embeddings(
                inputs["input_word_ids"],
                inputs["input_type_ids"],
                training=training and learns(self.embeddings),
            )
        states = ops.stop_gradient(states) if frozen_so_far else states
        layers = [states]
        for index in range(first, top):
            block = self.blocks[index]
            read = [states]
            if self.projected_attention is not None:
                read.append(self._in_parallel(states, mask, index, training))
            frozen_so_far = frozen_so_far and not (learns(block) or self._parallel_learns)
            run = functools.partial(_run, block, training and learns(block))
            if self.gradient_checkpointing and training and not frozen_so_far:
                states = recomputed(block, run, read, mask, in_slices=not self.supports_jit)
            else:
                states = run(mask, *read)
            states = ops.stop_gradient(states) if frozen_so_far else states
            layers.append(states)
        return layers, frozen_so_far

    def _in_parallel(self, states, mask, index: int, training):
        training = training and self._parallel_learns
        return self.projected_attention(states, mask, index=index, training=training)

    @property
    def _parallel_learns(self) -> bool:
        return self.projected_attention is not None and learns(self.projected_attention)

    def weights_by_name(self) -> dict:
        """Every weight by its name in a module, as `layer_0/attention/query/kernel`.

        Adapters, which no module has, are named in the same way:
        `layer_0/attention_adapter/down/kernel`, `projected_attention/layer_0/query/kernel`.
        """
        return weights_by_name(self, first="embeddings/word_embeddings")

    def load_weights_by_name(self, arrays: dict) -> None:
        """Sets every weight but the adapters' from `{name: array}`; see `load_pretrained`."""
        load_pretrained(self, arrays)

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
            "adapters": self.adapters,
            "adapter_size": self.adapter_size,
        }


def _run(block, training, mask, states, added=None):
    return block(states, mask, added, training=training)
