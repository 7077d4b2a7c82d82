"""BERT as a Keras layer that returns the hidden states of all layers; any part can be frozen."""

import functools

import keras
from keras import ops

from hub_modules.errors import ConfigError
from hub_modules.native.added.adapters import with_adapter_group
from hub_modules.native.added.projected_attention import ProjectedAttention
from hub_modules.native.added.settings import Lora, ProjectedAdapters, TaskAttention
from hub_modules.native.bert_embeddings import BertEmbeddings
from hub_modules.native.given_states import given_states, perturbed
from hub_modules.native.kernels.recomputation import recomputed
from hub_modules.native.transformer import TransformerBlock
from hub_modules.native.transformer_encoder import TransformerEncoder
from hub_modules.native.weights import is_trainable


@keras.saving.register_keras_serializable("hub_modules")
class BertEncoder(TransformerEncoder):
    """A BERT that returns the hidden states of every layer.

    Shapes: inputs `input_word_ids`, `input_mask` (1 = token, 0 = padding), `input_type_ids`, each
    `[batch, time] int32` → `{"layers": [num_layers + 1 times [batch, time, width]], bottom (the
    embedding output) to top, "mask": [batch, time] bool, "pooled": [batch, width]}`, in the layer's
    compute dtype.

    Given states: if the inputs hold, say, `states_of_layer_2` `[batch, time, width]`, the encoder
    starts above that layer, and `layers` begins with it. See `lower_layers`.

    `perturbation` `[batch, time, width]` among the inputs is added to the lowest hidden states.

    Masking: padding is never attended to; hidden states at padding are undefined.

    Freezing: a layer without trainable weights runs in inference mode, and no gradient is computed
    below the lowest trainable one. The LayerNorms of the layers with adapters are trained together
    with them: they are in the group `adapters`, the last, and in no other; where all layers have
    adapters, so is the LayerNorm of the embeddings. It comes after the embedding tables, which get
    no gradient where only adapters are trainable. With `TaskAttention`, which goes with a BERT that
    is tuned, `adapters` has no LayerNorms. LoRA's matrices alone are the group `lora`.

    Args:
        activation: "gelu_exact" (erf; HuggingFace checkpoints) or "gelu_tanh"
            (google-research/bert, keras-hub, published Hub modules).
        dropout: dropout rate after the embeddings and each sub-layer.
        attention_dropout: dropout rate of the attention weights.

    Attributes:
        added: what `add` gave it: `BottleneckAdapters` (two in each block; see `TransformerBlock`),
            `ProjectedAdapters` (one attention in parallel to each block; see `ProjectedAttention`),
            a `TaskAttention` (one for each task; then a call needs `task`, a name), a `Lora`, or
            None.
        gradient_checkpointing: keep only the input of each layer that gets a gradient, and compute
            the layer again in the backward pass; False. The results are the same.

    Raises:
        ConfigError: in a call: a task has no attention of its own.

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
        super().__init__(
            "bert",
            vocabulary_size,
            width,
            num_layers,
            num_heads,
            intermediate_width,
            max_positions,
            activation,
            layer_norm_epsilon,
            dropout,
            attention_dropout,
            **kwargs,
        )
        self.type_vocabulary_size = type_vocabulary_size
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
        self.blocks = self.make_blocks(TransformerBlock)
        self.pooler = keras.layers.Dense(
            width,
            activation="tanh",
            kernel_initializer=keras.initializers.TruncatedNormal(stddev=0.02),
            name="pooler",
            dtype=policy,
        )
        self.projected_attention = None
        self.task_attention = {}

    def add_in_parallel(self, added: ProjectedAdapters | TaskAttention) -> None:
        """Gives the encoder attention in parallel to its blocks, one or one for each task."""
        if isinstance(added, ProjectedAdapters):
            self.projected_attention = self._in_parallel_of_width(added.size, added.kind)
        else:
            self.task_attention = {
                task: self._in_parallel_of_width(added.size, f"{task}_attention")
                for task in added.tasks
            }

    def _in_parallel_of_width(self, size: int, name: str) -> ProjectedAttention:
        attention = ProjectedAttention(
            self.width,
            size,
            self.num_layers,
            self.activation,
            self.attention_dropout,
            name=name,
            dtype=self.dtype_policy,
        )
        attention.build()
        return attention

    def build_top(self) -> None:
        """Builds the pooler."""
        self.pooler.build((None, self.width))

    @property
    def _all_in_parallel(self) -> list[ProjectedAttention]:
        shared = [] if self.projected_attention is None else [self.projected_attention]
        return [*shared, *self.task_attention.values()]

    @property
    def adapter_layers(self) -> list[keras.layers.Layer]:
        """See `TransformerEncoder`; or the attention in parallel."""
        return self._all_in_parallel or super().adapter_layers

    @property
    def layer_groups(self) -> list[tuple[str, list[keras.Variable]]]:
        """The layer groups, bottom to top, as (name, weights)."""
        layers = [self.embeddings, *self.blocks, self.pooler]
        groups = [(layer.name, layer.weights) for layer in layers]
        if self.added is None:
            return groups
        if isinstance(self.added, Lora | TaskAttention):
            return with_adapter_group(groups, self.adapter_layers, self.added.group)
        in_layers = getattr(self.added, "in_layers", None)
        norms = [self.embeddings.layer_norm] if in_layers is None else []
        norms += self.norms_of_blocks(in_layers)
        return with_adapter_group(groups, [*self.adapter_layers, *norms], self.added.group)

    def call(self, inputs, training=None, task=None):
        mask = ops.cast(inputs["input_mask"], "bool")
        layers, frozen = self.states_up_to(inputs, mask, self.num_layers, training, task)
        pooled = self.pooler(layers[-1][:, 0])
        if frozen and not is_trainable(self.pooler):
            pooled = ops.stop_gradient(pooled)
        return {"layers": layers, "mask": mask, "pooled": pooled}

    def states_up_to(
        self, inputs: dict, mask, top: int, training, task: str | None = None
    ) -> tuple[list, bool]:
        """See `TransformerEncoder`.

        Raises:
            ConfigError: the task has no attention of its own.
        """
        parallel = self._in_parallel_of(task)
        parallel_learns = parallel is not None and is_trainable(parallel)
        names = [layer.name for layer in (self.embeddings, *self.blocks)]
        first, states = given_states(inputs, names)
        frozen_so_far = states is not None or not is_trainable(self.embeddings)
        if states is None:
            states = self.embeddings(
                inputs["input_word_ids"],
                inputs["input_type_ids"],
                training=training and is_trainable(self.embeddings),
            )
        states = ops.stop_gradient(states) if frozen_so_far else states
        states, frozen_so_far = perturbed(inputs, states, frozen_so_far)
        layers = [states]
        for index in range(first, top):
            block = self.blocks[index]
            block_inputs = [states]
            if parallel is not None:
                learns = training and parallel_learns
                block_inputs.append(parallel(states, mask, index=index, training=learns))
            frozen_so_far = frozen_so_far and not (is_trainable(block) or parallel_learns)
            run = functools.partial(_run, block, training and is_trainable(block))
            if self.gradient_checkpointing and training and not frozen_so_far:
                states = recomputed(block, run, block_inputs, mask, in_slices=not self.supports_jit)
            else:
                states = run(mask, *block_inputs)
            states = ops.stop_gradient(states) if frozen_so_far else states
            layers.append(states)
        return layers, frozen_so_far

    def _in_parallel_of(self, task: str | None) -> ProjectedAttention | None:
        if task in self.task_attention:
            return self.task_attention[task]
        if self.task_attention or task is not None:
            expected = f"one of {', '.join(self.task_attention)}" if self.task_attention else "none"
            raise ConfigError(
                f"task: expected {expected}, whose own attention the encoder has, got {task!r}; "
                "build models with tf_adapt.build_multi_task_model, and ask that of a task "
                "(model.models[TASK])"
            )
        return self.projected_attention

    def get_config(self) -> dict:
        return super().get_config() | {"type_vocabulary_size": self.type_vocabulary_size}


def _run(block, training, mask, states, added=None):
    return block(states, mask, added, training=training)
