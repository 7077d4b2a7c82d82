"""Bottleneck adapters, and which weights of an encoder train with its adapters."""

import keras
import tensorflow as tf

from hub_modules.activations import ACTIVATIONS
from hub_modules.weights import load_weights_by_name
from tf_adapt.errors import ConfigError

KINDS = {"bert": ("bottleneck", "projected_attention"), "elmo": ("bottleneck",)}
GROUP = "adapters"


@keras.saving.register_keras_serializable("hub_modules")
class BottleneckAdapter(keras.layers.Layer):
    """A small two-layer network added to its own input: close to the identity until it has learnt.

    `x + W_up gelu(W_down x + b_down) + b_up`, matrices from a truncated normal distribution of
    deviation 1e-3, biases zero.

    Shapes: states `[…, width]` → `[…, width]`.

    Masking: none needed, each position is computed by itself.

    Args:
        width: of the states.
        size: width of the bottleneck, at least 1; 2 · width · size + width + size weights in all.
        activation: a name of `ACTIVATIONS`, in a BERT the encoder's own.

    Source: Houlsby et al. 2019, "Parameter-Efficient Transfer Learning for NLP", section 2.1;
    google-research/adapter-bert for the start.
    """

    def __init__(self, width: int, size: int, activation: str, **kwargs):
        super().__init__(**kwargs)
        self.width = width
        self.size = size
        self.activation = activation
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
        self.down.build((None, self.width))
        self.up.build((None, self.size))

    def call(self, states):
        return states + self.up(ACTIVATIONS[self.activation](self.down(states)))

    def get_config(self) -> dict:
        return super().get_config() | {
            "width": self.width,
            "size": self.size,
            "activation": self.activation,
        }


@keras.saving.register_keras_serializable("hub_modules")
class BidirectionalAdapter(keras.layers.Layer):
    """One bottleneck adapter for each direction of a biLM layer.

    Shapes: states `[2, batch, time, width]` (forward; backward) → the same.

    Args:
        width, size: as of `BottleneckAdapter`.

    Source: Houlsby et al. 2019 for the adapter; its place in an ELMo is ours.
    """

    def __init__(self, width: int, size: int, **kwargs):
        super().__init__(**kwargs)
        self.width = width
        self.size = size
        self.forward = self._adapter("forward")
        self.backward = self._adapter("backward")

    def _adapter(self, name: str):
        return BottleneckAdapter(
            self.width, self.size, "gelu_exact", name=name, dtype=self.dtype_policy
        )

    def build(self, input_shape=None):
        self.forward.build()
        self.backward.build()

    def call(self, states):
        return tf.stack([self.forward(states[0]), self.backward(states[1])])

    def get_config(self) -> dict:
        return super().get_config() | {"width": self.width, "size": self.size}


def check_adapters(family: str, adapters: str | None, adapter_size: int) -> None:
    """Refuses adapters that an encoder of this family cannot have.

    Raises:
        ConfigError: the kind is unknown, or the size is not a positive whole number.
    """
    if adapters is not None and adapters not in KINDS[family]:
        raise ConfigError(
            f"adapters: expected one of {list(KINDS[family])} for {family}, or None, "
            f"got {adapters!r}"
        )
    if adapters is not None and (not isinstance(adapter_size, int) or adapter_size < 1):
        raise ConfigError(
            f"adapter_size: expected a whole number of at least 1, got {adapter_size!r}"
        )


def with_adapter_group(
    groups: list[tuple[str, list[keras.Variable]]], layers: list[keras.layers.Layer]
) -> list[tuple[str, list[keras.Variable]]]:
    """The layer groups, still a partition, with the weights of `layers` in one of their own, last.

    Without such layers the groups stay as they are.
    """
    if not layers:
        return groups
    own = [weight for layer in layers for weight in layer.weights]
    taken = set(map(id, own))
    rest = [(name, [w for w in weights if id(w) not in taken]) for name, weights in groups]
    return [*rest, (GROUP, own)]


def load_pretrained(encoder: keras.layers.Layer, arrays: dict) -> None:
    """Sets every weight that a module has; its adapters, which no module has, stay as they are.

    Raises:
        ArtifactError: a weight is missing, unknown, or of another shape.
    """
    new = {id(weight) for layer in encoder.adapter_layers for weight in layer.weights}
    named = encoder.weights_by_name()
    load_weights_by_name({n: w for n, w in named.items() if id(w) not in new}, arrays)
