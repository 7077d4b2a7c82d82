"""BERT as a Keras layer that returns the hidden states of all layers; any part can be frozen."""

import keras

from hub_modules.errors import ConfigError
from hub_modules.native.added.projected_attention import ProjectedAttention
from hub_modules.native.added.settings import ProjectedAdapters, TaskAttention
from hub_modules.native.bert_embeddings import BertEmbeddings
from hub_modules.native.transformer import TransformerBlock
from hub_modules.native.transformer_encoder import TransformerEncoder


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

    Args: `type_vocabulary_size`, and those of `TransformerEncoder`.

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

    family = "bert"

    def __init__(self, type_vocabulary_size: int = 2, **kwargs):
        super().__init__(**kwargs)
        self.type_vocabulary_size = type_vocabulary_size
        self.embeddings = BertEmbeddings(
            self.vocabulary_size,
            self.width,
            self.max_positions,
            type_vocabulary_size,
            self.layer_norm_epsilon,
            self.dropout,
            name="embeddings",
            dtype=self.dtype_policy,
        )
        self.blocks = self.make_blocks(TransformerBlock)
        self.pooler = self.make_pooler()
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

    @property
    def _all_in_parallel(self) -> list[ProjectedAttention]:
        shared = [] if self.projected_attention is None else [self.projected_attention]
        return [*shared, *self.task_attention.values()]

    @property
    def adapter_layers(self) -> list[keras.layers.Layer]:
        """See `TransformerEncoder`; or the attention in parallel."""
        return self._all_in_parallel or super().adapter_layers

    def call(self, inputs, training=None, task=None):
        return self.encoded(inputs, training, task=task)

    def embedded(self, inputs: dict, training):
        """See `TransformerEncoder`."""
        ids, types = inputs["input_word_ids"], inputs["input_type_ids"]
        return self.embeddings(ids, types, training=training)

    def states_up_to(
        self, inputs: dict, mask, top: int, training, task: str | None = None
    ) -> tuple[list, bool]:
        """See `TransformerEncoder`.

        Raises:
            ConfigError: the task has no attention of its own.
        """
        parallel = self._in_parallel_of(task)
        return super().states_up_to(inputs, mask, top, training, parallel)

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
