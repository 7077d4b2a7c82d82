"""Bottleneck adapters, and the layer group of the weights trained with them."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import keras
import tensorflow as tf
from keras import ops

from hub_modules.errors import ConfigError
from hub_modules.native.added.lora import Lora, add_low_rank
from hub_modules.native.kernels.activations import ACTIVATIONS
from hub_modules.native.weights import load_weights_by_name

KINDS = {
    "bert": ("bottleneck", "projected_attention"),
    "elmo": ("bottleneck",),
    "causal": ("bottleneck",),
}
GROUP = "adapters"
OPERATIONS = ("dense", "convolution")
OWN_ACTIVATIONS = ("gelu", "relu")


@keras.saving.register_keras_serializable("hub_modules")
@dataclass(frozen=True)
class BottleneckAdapters:
    """The settings of an encoder's bottleneck adapters.

    Args:
        size: width of the adapters, at least 1; 64 as in adapter-bert.
        in_layers: numbers of the encoder's layers that get adapters, from 0; None: all.
        activation: "gelu" (the encoder's own formula, as in adapter-bert) or "relu".
        operation: "dense", or "convolution": the adapter also reads the two neighbours of each
            position.

    Raises:
        ConfigError: a value is out of range.
    """

    size: int = 64
    in_layers: tuple[int, ...] | None = None
    activation: str = "gelu"
    operation: str = "dense"

    def __post_init__(self):
        if not isinstance(self.size, int) or self.size < 1:
            raise ConfigError(
                f"adapter_size: expected a whole number of at least 1, got {self.size!r}"
            )
        for name, allowed in (("activation", OWN_ACTIVATIONS), ("operation", OPERATIONS)):
            if getattr(self, name) not in allowed:
                raise ConfigError(
                    f"{name}: expected {' or '.join(allowed)}, got {getattr(self, name)!r}"
                )
        if self.in_layers is not None:
            object.__setattr__(self, "in_layers", tuple(self.in_layers))

    def get_config(self) -> dict:
        """Plain values, with a list in place of a tuple."""
        return {n: list(v) if isinstance(v, tuple) else v for n, v in asdict(self).items()}

    @classmethod
    def from_config(cls, config: dict) -> "BottleneckAdapters":
        """The value of `get_config`."""
        return cls(**config)


@keras.saving.register_keras_serializable("hub_modules")
@dataclass(frozen=True)
class TaskAttention:
    """The projected attention layers of each of several tasks that share a BERT.

    A task's own are those of `ProjectedAttention`; a call names the task whose own count.

    Args:
        tasks: the names of the tasks, each once; letters, digits and _, no digit first.
        size: width of the attention, at least 1; 204 as published.

    Raises:
        ConfigError: a value is out of range.

    Source: Stickland and Murray 2019, "BERT and PALs", where the shared BERT is tuned with them.
    """

    tasks: tuple[str, ...]
    size: int = 204

    def __post_init__(self):
        names = () if isinstance(self.tasks, str) else tuple(self.tasks)
        fit = all(isinstance(one, str) and one.isascii() and one.isidentifier() for one in names)
        if not names or not fit or len(set(names)) < len(names):
            raise ConfigError(
                "tasks: expected a list of names of letters, digits and _, no digit first, each "
                f"once, got {self.tasks!r}"
            )
        object.__setattr__(self, "tasks", names)
        if type(self.size) is not int or self.size < 1:
            raise ConfigError(
                f"size (task_attention in a config): expected a whole number of at least 1, got "
                f"{self.size!r}"
            )

    def get_config(self) -> dict:
        """Plain values."""
        return {"tasks": list(self.tasks), "size": self.size}

    @classmethod
    def from_config(cls, config: dict) -> "TaskAttention":
        """The value of `get_config`."""
        return cls(**config)


# `adapters` of a native encoder.
Added = str | BottleneckAdapters | TaskAttention | Lora | None


@keras.saving.register_keras_serializable("hub_modules")
class BottleneckAdapter(keras.layers.Layer):
    """A small two-layer network with a residual connection: close to the identity at first.

    `x + W_up gelu(W_down x + b_down) + b_up`; matrices are initialised from a truncated normal
    distribution with standard deviation 1e-3, biases with zero. With `operation="convolution"`
    `W_down` is applied to `[x_{t−1}; x_t; x_{t+1}]`, zero outside of the text: a convolution of
    width 3.

    Shapes: hidden states `[…, width]` → `[…, width]`; for a convolution `[batch, time, width]` and
    token_mask `[batch, time] bool`.

    Masking: padding counts as zero in a convolution; a dense adapter needs none.

    Args:
        width: of the hidden states.
        size: width of the bottleneck, at least 1; 2 · width · size + width + size weights in all,
            for a convolution 4 · width · size + width + size.
        activation: a key of `ACTIVATIONS`, in a BERT the encoder's own, or "relu".
        operation: "dense" or "convolution".

    Source: Houlsby et al. 2019, "Parameter-Efficient Transfer Learning for NLP", section 2.1;
    google-research/adapter-bert for the initialisation; Ruder et al. 2019, "Transfer Learning in
    NLP" (tutorial) for relu and convolutions.
    """

    def __init__(self, width: int, size: int, activation: str, operation: str = "dense", **kwargs):
        super().__init__(**kwargs)
        self.width = width
        self.size = size
        self.activation = activation
        self.operation = operation
        self.down = self._dense(size, "down")
        self.up = self._dense(width, "up")

    def _dense(self, units: int, name: str):
        return keras.layers.Dense(
            units,
            kernel_initializer=keras.initializers.TruncatedNormal(stddev=1e-3),
            name=name,
            dtype=self.dtype_policy,
        )

    def build(self, input_shape=None):
        self.down.build((None, self.width * (3 if self.operation == "convolution" else 1)))
        self.up.build((None, self.size))

    def call(self, states, token_mask=None):
        activation = ops.relu if self.activation == "relu" else ACTIVATIONS[self.activation]
        read = _with_neighbours(states, token_mask) if self.operation == "convolution" else states
        return states + self.up(activation(self.down(read)))

    def get_config(self) -> dict:
        return super().get_config() | {
            "width": self.width,
            "size": self.size,
            "activation": self.activation,
            "operation": self.operation,
        }


def _with_neighbours(states, token_mask):
    """`[batch, time, width]` → `[batch, time, 3 * width]`: left, own and right states."""
    states *= ops.cast(token_mask, states.dtype)[..., None]
    padded = ops.pad(states, ((0, 0), (1, 1), (0, 0)))
    return ops.concatenate([padded[:, :-2], states, padded[:, 2:]], axis=-1)


@keras.saving.register_keras_serializable("hub_modules")
class BidirectionalAdapter(keras.layers.Layer):
    """One bottleneck adapter for each direction of a biLM layer.

    Shapes: hidden states `[2, batch, time, width]` (forward; backward), for a convolution also
    token_mask `[batch, time] bool` → the same as the states.

    Args:
        width, size, activation, operation: as of `BottleneckAdapter`.

    Source: Houlsby et al. 2019 for the adapter; its position in an ELMo is our choice.
    """

    def __init__(
        self,
        width: int,
        size: int,
        activation: str = "gelu_exact",
        operation: str = "dense",
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.width = width
        self.size = size
        self.activation = activation
        self.operation = operation
        self.forward = self._adapter("forward")
        self.backward = self._adapter("backward")

    def _adapter(self, name: str):
        return BottleneckAdapter(
            self.width,
            self.size,
            self.activation,
            self.operation,
            name=name,
            dtype=self.dtype_policy,
        )

    def build(self, input_shape=None):
        self.forward.build()
        self.backward.build()

    def call(self, states, token_mask=None):
        return tf.stack([self.forward(states[0], token_mask), self.backward(states[1], token_mask)])

    def get_config(self) -> dict:
        return super().get_config() | {
            "width": self.width,
            "size": self.size,
            "activation": self.activation,
            "operation": self.operation,
        }


def check_adapters(family: str, adapters: Added, adapter_size: int, num_layers: int) -> None:
    """Refuses adapters or LoRA that an encoder of this family and height cannot have.

    Raises:
        ConfigError: the kind is unknown or not possible, the size is not a positive whole number,
            or a layer does not exist.
    """
    if isinstance(adapters, Lora) and family == "elmo":
        raise ConfigError(
            "lora: expected an encoder of transformer layers, whose kernels it names (query, value "
            "…), got an elmo; use adapters, bitfit or top_layers"
        )
    if getattr(adapters, "operation", None) == "convolution" and family == "causal":
        raise ConfigError(
            "operation (adaptation.operation in a config): expected dense for a causal encoder, "
            "got convolution, which would read the position that is to be predicted"
        )
    if isinstance(adapters, TaskAttention) and family != "bert":
        raise ConfigError(
            "adapters: TaskAttention (task_attention in a config): expected a BERT, got the family "
            f"{family}"
        )
    if isinstance(adapters, str) and adapters not in KINDS[family]:
        raise ConfigError(
            f"adapters: expected one of {list(KINDS[family])} for {family}, or None, "
            f"got {adapters!r}"
        )
    if isinstance(adapters, str):
        BottleneckAdapters(adapter_size)  # checks the size
    check_in_layers(getattr(adapters, "in_layers", None), num_layers)


def refuse_adapters(adapters: Added, family: str) -> None:
    """Refuses adapters or LoRA for encoders of a family that has no place for any.

    Raises:
        ConfigError: there are some.
    """
    if adapters is None:
        return
    if isinstance(adapters, TaskAttention):
        raise ConfigError(
            "adapters: TaskAttention (task_attention in a config): expected a BERT, got the family "
            f"{family}; leave it out"
        )
    is_lora = isinstance(adapters, Lora)
    expected = "transformer layers" if is_lora else "transformer layers, or an ELMo"
    raise ConfigError(
        f"{'lora' if is_lora else 'adapters'}: expected an encoder of {expected}, got the family "
        f"{family}, which has no place for them; use bitfit, top_layers or gradual_unfreezing"
    )


def check_in_layers(in_layers: Sequence[int] | None, num_layers: int) -> None:
    """Refuses numbers of layers that an encoder does not have.

    Raises:
        ConfigError: a layer does not exist, or stands twice.
    """
    if in_layers is None:
        return
    known = all(isinstance(number, int) and 0 <= number < num_layers for number in in_layers)
    if not in_layers or not known or len(set(in_layers)) < len(in_layers):
        raise ConfigError(
            f"in_layers (adaptation.in_layers in a config): expected numbers of layers from 0 to "
            f"{num_layers - 1}, each once, got {list(in_layers)}"
        )


def bottlenecks_of(adapters: Added, adapter_size: int) -> BottleneckAdapters | None:
    """The bottleneck adapters that an encoder with these arguments has; None: none."""
    if adapters == "bottleneck":
        return BottleneckAdapters(adapter_size)
    return adapters if isinstance(adapters, BottleneckAdapters) else None


def adapters_of_block(settings: BottleneckAdapters | None, index: int, activation: str) -> dict:
    """The arguments of a transformer layer for its adapters; none where it has none.

    Args:
        activation: the encoder's own, that of adapters with "gelu".
    """
    if settings is None or not is_chosen(settings.in_layers, index):
        return {}
    return {
        "adapter_size": settings.size,
        "adapter_activation": "relu" if settings.activation == "relu" else activation,
        "adapter_operation": settings.operation,
    }


def is_chosen(in_layers: Sequence[int] | None, index: int) -> bool:
    """Whether a layer is among those of `in_layers`; None: all are."""
    return in_layers is None or index in in_layers


def with_adapter_group(
    groups: list[tuple[str, list[keras.Variable]]],
    layers: list[keras.layers.Layer],
    name: str = GROUP,
) -> list[tuple[str, list[keras.Variable]]]:
    """Moves the weights of `layers` into a group `name`, the last; still a partition.

    Without such layers the groups stay as they are.
    """
    if not layers:
        return groups
    own = [weight for layer in layers for weight in layer.weights]
    moved = set(map(id, own))
    rest = [(group, [w for w in weights if id(w) not in moved]) for group, weights in groups]
    return [*rest, (name, own)]


def add_lora(blocks: Sequence[keras.layers.Layer], lora: Lora) -> None:
    """Gives the chosen linear layers of built transformer layers their `LowRank`."""
    for index, block in enumerate(blocks):
        for target in lora.target if is_chosen(lora.in_layers, index) else ():
            name = f"{block.name}_{target}_lora"
            add_low_rank(block.linear_layers[target], lora.rank, lora.alpha, name)


def load_pretrained(encoder: keras.layers.Layer, arrays: dict) -> None:
    """Sets every weight except those of adapters and LoRA, which no module stores.

    Raises:
        ArtifactError: a weight is missing, unknown, or of another shape.
    """
    load_weights_by_name(pretrained_by_name(encoder), arrays)


def pretrained_by_name(encoder: keras.layers.Layer) -> dict[str, keras.Variable]:
    """The weights of a native encoder by name, without those of adapters and LoRA."""
    new = {id(weight) for layer in encoder.adapter_layers for weight in layer.weights}
    return {n: w for n, w in encoder.weights_by_name().items() if id(w) not in new}


def with_added(config: dict) -> dict:
    """An encoder's serialized config, with `adapters` and `lora` as values again."""
    values = {name: config[name] for name in ("adapters", "lora") if name in config}
    return config | {
        name: keras.saving.deserialize_keras_object(value) if isinstance(value, dict) else value
        for name, value in values.items()
    }
