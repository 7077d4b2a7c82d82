"""A backbone of keras-hub as a Keras layer that returns the hidden states of all its layers."""

import keras
from keras import ops

from hub_modules.keras_hub.backbones import backbone_class
from hub_modules.native.added.adapters import check_added, load_pretrained, with_adapter_group
from hub_modules.native.added.lora import add_low_rank, low_rank_layers
from hub_modules.native.added.settings import Lora, is_chosen
from hub_modules.native.arguments import ArgumentsInConfig
from hub_modules.native.given_states import given_states, perturbed
from hub_modules.native.untracked import Untracked
from hub_modules.native.weights import is_trainable, weights_by_name

ACTIVATIONS = {
    "gelu_exact": lambda states: keras.activations.gelu(states, approximate=False),
    "gelu_tanh": lambda states: keras.activations.gelu(states, approximate=True),
    "relu": keras.activations.relu,
}
_EMBEDDINGS = (
    "token_embedding",
    "position_embedding",
    "segment_embedding",
    "embeddings",
    "embeddings_add",
    "embeddings_layer_norm",
    "embeddings_dropout",
    "embeddings_projection",
    "relative_embeddings",
)


@keras.saving.register_keras_serializable("hub_modules")
class KerasHubEncoder(ArgumentsInConfig, keras.layers.Layer):
    """A bidirectional keras-hub backbone that returns the hidden states of every layer.

    The layers are keras-hub's; the loop over them is ours, so that each call of a layer has its
    states among the outputs (ALBERT calls one layer many times) and frozen parts stay frozen.

    Shapes: inputs `input_word_ids`, `input_mask` (1 = token, 0 = padding), `input_type_ids`, each
    `[batch, time] int32` → `{"layers": [num_states times [batch, time, width]], the embedding
    output first, "mask": [batch, time] bool, "pooled": [batch, width]}`, in the layer's compute
    dtype. Backbones without segments ignore `input_type_ids`. `pooled` is the backbone's own pooled
    output (BERT, ALBERT, ELECTRA), else the first token's state at the top.

    Given states and a perturbation: as of `BertEncoder`; where groups are shared by several calls,
    no given states.

    Masking: padding is never attended to; hidden states at padding are undefined.

    Freezing: a layer without trainable weights runs in inference mode, and no gradient is computed
    below the lowest trainable one.

    Args:
        backbone: a name of `hub_modules.keras_hub.backbones.BACKBONES`.
        settings: the arguments of the backbone's class.
        activation: a key of `ACTIVATIONS` in place of the backbone's own in all feed-forward
            layers, as the weights' source has it; None: its own.
        layer_norm_epsilon: in place of the backbone's own; None: its own.
        pooler: whether the weights have a pooler, where the backbone has one.

    Raises:
        ConfigError: keras-hub is not installed.

    Source: keras-hub, `models/*/*_backbone.py`; for each backbone its own paper.
    """

    boundary_positions = 0

    def __init__(
        self,
        backbone: str,
        settings: dict,
        activation: str | None = None,
        layer_norm_epsilon: float | None = None,
        pooler: bool = True,
        **kwargs,
    ):
        super().__init__(**kwargs)
        # Batches differ in length; compiling for each length costs more than it saves.
        self.supports_jit = False
        self.backbone = backbone
        # Keras would turn a dict into one of its own.
        self._settings = Untracked(dict(settings))
        self.activation = activation
        self.layer_norm_epsilon = layer_norm_epsilon
        built = backbone_class(backbone)(**settings, dtype=self.dtype_policy)
        # The functional model around the layers is not called.
        self._model = Untracked(built)
        self._embedding_layers = [
            getattr(built, name) for name in _EMBEDDINGS if getattr(built, name, None) is not None
        ]
        self._blocks = [
            list(part) if isinstance(part, list) else [part] for part in built.transformer_layers
        ]
        self.pooler_layer = getattr(built, "pooled_dense", None) if pooler else None
        self.pooler = pooler
        self._exchange()

    def build(self, input_shape=None):
        """Creates nothing: keras-hub has built the layers."""

    @property
    def settings(self) -> dict:
        """The arguments of the backbone's class."""
        return dict(self._settings.value)

    @property
    def keras_hub_model(self) -> keras.Model:
        """keras-hub's own model of the same layers, to read weights into."""
        return self._model.value

    @property
    def max_positions(self) -> int:
        """Most positions of a row; of a DeBERTa, which has no bound, those of its pretraining."""
        return self._settings.value["max_sequence_length"]

    @property
    def num_states(self) -> int:
        """Number of hidden-state outputs: of the embeddings and of each call of a layer."""
        return 1 + len(self._calls)

    @property
    def states_width(self) -> int:
        """Width of each layer's hidden states."""
        return self._settings.value["hidden_dim"]

    @property
    def state_names(self) -> list[str]:
        """Names of the states that a call can start from, bottom to top: see "Given states"."""
        shared = len(self._calls) > len(self._blocks)
        return ["embeddings", *(f"layer_{index}" for index in range(0 if shared else self._depth))]

    def add(self, added: Lora) -> None:
        """Gives the chosen linear layers their `LowRank`, once; after weights have been read, for
        keras-hub reads them by its own layers' parts.

        Raises:
            ConfigError: as `check_added`.
        """
        check_added(added, "keras", self._depth)
        for index, block in enumerate(self._blocks):
            chosen = block if is_chosen(added.in_layers, index) else []
            for number, layer in enumerate(chosen):
                linear = _linear_layers(layer)
                for target in added.target:
                    name = f"layer_{index}_{number}_{target}_lora"
                    add_low_rank(linear[target], added.rank, added.alpha, name)

    @property
    def adapter_layers(self) -> list[keras.layers.Layer]:
        """LoRA's matrices, bottom to top; no preset stores them."""
        return low_rank_layers(self)

    @property
    def layer_groups(self) -> list[tuple[str, list[keras.Variable]]]:
        """The layer groups, bottom to top, as (name, weights); shared layers are one group."""
        groups = [("embeddings", _weights(self._embedding_layers))]
        groups += [(f"layer_{index}", _weights(part)) for index, part in enumerate(self._blocks)]
        groups += [("pooler", self.pooler_layer.weights)] if self.pooler_layer else []
        return with_adapter_group(groups, self.adapter_layers, Lora.group)

    def call(self, inputs, training=None):
        mask = ops.cast(inputs["input_mask"], "bool")
        layers, frozen = self._states_up_to(inputs, mask, len(self._calls), training)
        pooled = layers[-1][:, 0]
        if self.pooler_layer is not None:
            pooled = self.pooler_layer(pooled)
            if frozen and not is_trainable(self.pooler_layer):
                pooled = ops.stop_gradient(pooled)
        return {"layers": layers, "mask": mask, "pooled": pooled}

    def lower_layers(self, inputs, top: int) -> dict:
        """Hidden states up to number `top` (0: the embeddings), in inference mode.

        Each can be an input of a later call: see "Given states" above. The keys are those of a
        call, without `pooled`.
        """
        mask = ops.cast(inputs["input_mask"], "bool")
        return {"layers": self._states_up_to(inputs, mask, top, training=False)[0], "mask": mask}

    def _states_up_to(self, inputs, mask, top: int, training) -> tuple[list, bool]:
        """Hidden states up to `top`, and whether all layers that made them are frozen."""
        first, states = given_states(inputs, self.state_names)
        embeddings_learn = any(is_trainable(layer) for layer in self._embedding_layers)
        frozen_so_far = states is not None or not embeddings_learn
        if states is None:
            states = self._embed(inputs, training and embeddings_learn)
        states = ops.stop_gradient(states) if frozen_so_far else states
        states, frozen_so_far = perturbed(inputs, states, frozen_so_far)
        more = self._relative_embeddings(states, frozen=not embeddings_learn)
        layers = [states]
        for block in self._calls[first:top]:
            learns = any(is_trainable(layer) for layer in block)
            frozen_so_far = frozen_so_far and not learns
            for layer in block:
                states = layer(states, padding_mask=mask, training=training and learns, **more)
            states = ops.stop_gradient(states) if frozen_so_far else states
            layers.append(states)
        return layers, frozen_so_far

    def _embed(self, inputs, training):
        model, ids = self._model.value, inputs["input_word_ids"]
        if hasattr(model, "segment_embedding"):
            tokens = model.token_embedding(ids)
            positions = model.position_embedding(tokens)
            segments = model.segment_embedding(inputs["input_type_ids"])
            states = model.embeddings_add((tokens, positions, segments))
        elif hasattr(model, "embeddings"):
            states = model.embeddings(ids)
        else:
            states = model.token_embedding(ids)
        states = model.embeddings_layer_norm(states)
        states = model.embeddings_dropout(states, training=training)
        projection = getattr(model, "embeddings_projection", None)
        return states if projection is None else projection(states)

    def _relative_embeddings(self, states, frozen: bool) -> dict:
        """DeBERTa's further input of each layer."""
        layer = getattr(self._model.value, "relative_embeddings", None)
        if layer is None:
            return {}
        relative = layer(states)
        return {"rel_embeddings": ops.stop_gradient(relative) if frozen else relative}

    @property
    def _depth(self) -> int:
        return len(self._blocks)

    @property
    def _calls(self) -> list[list[keras.layers.Layer]]:
        """The layers of each call, bottom to top; a group of layers may be called many times."""
        times = self._settings.value["num_layers"] // len(self._blocks)
        return [block for block in self._blocks for _ in range(times)]

    def _exchange(self) -> None:
        """Gives the layers the activation and the ε of the weights' source."""
        blocks = [layer for block in self._blocks for layer in block]
        if self.activation is not None:
            for layer in blocks:
                layer._feedforward_intermediate_dense.activation = ACTIVATIONS[self.activation]
        if self.layer_norm_epsilon is not None:
            for layer in self._flatten_layers():
                if isinstance(layer, keras.layers.LayerNormalization):
                    layer.epsilon = self.layer_norm_epsilon

    def weights_by_name(self) -> dict:
        """Every weight by keras-hub's own path, as `transformer_layer_0/…/query/kernel`."""
        return weights_by_name(self, first="embeddings_layer_norm/gamma")

    def load_weights_by_name(self, arrays: dict) -> None:
        """Sets every weight but LoRA's, or none; see `load_pretrained`."""
        load_pretrained(self, arrays)


def _linear_layers(layer: keras.layers.Layer) -> dict[str, keras.layers.Layer]:
    """The linear layers of a transformer layer by the names of LoRA's `TARGETS`; keras-hub has no
    public ones."""
    attention = layer._self_attention_layer
    return {
        "query": attention._query_dense,
        "key": attention._key_dense,
        "value": attention._value_dense,
        "attention_output": attention._output_dense,
        "intermediate": layer._feedforward_intermediate_dense,
        "output": layer._feedforward_output_dense,
    }


def _weights(layers: list[keras.layers.Layer]) -> list[keras.Variable]:
    """The weights of layers, each once: the token embedding is a part of another layer too."""
    by_id = {id(weight): weight for layer in layers for weight in layer.weights}
    return list(by_id.values())
