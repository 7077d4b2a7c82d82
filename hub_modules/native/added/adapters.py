"""Bottleneck adapters, and the layer group of the weights trained with them."""

import contextlib
from collections.abc import Iterator, Sequence

import keras
import tensorflow as tf
from keras import ops

from hub_modules.errors import ConfigError
from hub_modules.families import FAMILIES
from hub_modules.native.added.lora import add_low_rank
from hub_modules.native.added.settings import KINDS, Added, Lora, is_chosen
from hub_modules.native.arguments import ArgumentsInConfig
from hub_modules.native.kernels.activations import ACTIVATIONS
from hub_modules.native.weights import load_weights_by_name


class _Adapter(ArgumentsInConfig, keras.layers.Layer):
    """The settings of an adapter."""

    def __init__(self, width: int, size: int, activation: str, operation: str = "dense", **kwargs):
        super().__init__(**kwargs)
        self.width = width
        self.size = size
        self.activation = activation
        self.operation = operation
        self._make_parts()


@keras.saving.register_keras_serializable("hub_modules")
class BottleneckAdapter(_Adapter):
    """A small two-layer network with a residual connection: close to the identity at first.

    `x + W_up gelu(W_down x + b_down) + b_up`; matrices are initialised from a truncated normal
    distribution with standard deviation 1e-3, biases with zero. With `operation="convolution"`
    `W_down` is applied to `[x_{t−1}; x_t; x_{t+1}]`, zero outside of the text: a convolution of
    width 3.

    With `parallel` it reads `z`, what the part of the block that computed `x` has read:
    `x + W_up gelu(W_down z + b_down) + b_up`.

    Shapes: hidden states `[…, width]` → `[…, width]`, read the same; for a convolution `[batch,
    time, width]` and token_mask `[batch, time] bool`.

    Masking: padding counts as zero in a convolution; a dense adapter needs none.

    Args:
        width: of the hidden states.
        size: width of the bottleneck, at least 1; 2 · width · size + width + size weights in all,
            for a convolution 4 · width · size + width + size.
        activation: a key of `ACTIVATIONS`, in a BERT the encoder's own, or "relu".
        operation: "dense" or "convolution".
        parallel: whether it is beside the part of the block, or behind it.

    Source: Houlsby et al. 2019, "Parameter-Efficient Transfer Learning for NLP", section 2.1;
    google-research/adapter-bert for the initialisation; Ruder et al. 2019, "Transfer Learning in
    NLP" (tutorial) for relu and convolutions; He et al. 2022, "Towards a Unified View of
    Parameter-Efficient Transfer Learning", table 1 (without its scale), for parallel ones.
    """

    def __init__(
        self,
        width: int,
        size: int,
        activation: str,
        operation: str = "dense",
        parallel: bool = False,
        **kwargs,
    ):
        super().__init__(width, size, activation, operation, **kwargs)
        self.parallel = parallel

    def _make_parts(self):
        self.down = self._dense(self.size, "down")
        self.up = self._dense(self.width, "up")

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

    def call(self, states, token_mask=None, read=None):
        activation = ops.relu if self.activation == "relu" else ACTIVATIONS[self.activation]
        read = read if self.parallel else states
        read = _with_neighbours(read, token_mask) if self.operation == "convolution" else read
        return states + self.up(activation(self.down(read)))


def _with_neighbours(states, token_mask):
    """`[batch, time, width]` → `[batch, time, 3 * width]`: left, own and right states."""
    states *= ops.cast(token_mask, states.dtype)[..., None]
    padded = ops.pad(states, ((0, 0), (1, 1), (0, 0)))
    return ops.concatenate([padded[:, :-2], states, padded[:, 2:]], axis=-1)


@keras.saving.register_keras_serializable("hub_modules")
class BidirectionalAdapter(_Adapter):
    """One bottleneck adapter for each direction of a biLM layer.

    Shapes: hidden states `[2, batch, time, width]` (forward; backward), for a convolution also
    token_mask `[batch, time] bool` → the same as the states.

    Args:
        width, size, activation, operation: as of `BottleneckAdapter`.

    Source: Houlsby et al. 2019 for the adapter; its position in an ELMo is our choice.
    """

    def _make_parts(self):
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


def check_added(added: Added, family: str, num_layers: int) -> None:
    """Refuses what an encoder of this family and height has no place for.

    Raises:
        ConfigError: the family has no place for it, or a layer does not exist.
    """
    places = [name for name, row in FAMILIES.items() if added.kind in row.takes]
    if family not in places:
        others = ", ".join(KINDS[kind].adaptation for kind in FAMILIES[family].takes)
        raise ConfigError(
            f"{added.adaptation}: expected an encoder of the families {', '.join(places)}, which "
            f"have a place for it, got the family {family}; take "
            f"{f'{others} or ' if others else ''}fine_tuning"
        )
    if getattr(added, "operation", None) == "convolution" and not FAMILIES[family].reads_both_ways:
        raise ConfigError(
            f"operation (adaptation.operation in a config): expected dense for the family {family},"
            " got convolution, which would read the position that is to be predicted"
        )
    if getattr(added, "parallel", False) and not FAMILIES[family].is_transformer:
        raise ConfigError(
            f"parallel (adaptation.parallel in a config): expected false for the family {family}, "
            "whose layers are no attention and feed-forward parts, got true"
        )
    in_layers = getattr(added, "in_layers", None)
    if in_layers is None:
        return
    known = all(type(number) is int and 0 <= number < num_layers for number in in_layers)
    if not in_layers or not known or len(set(in_layers)) < len(in_layers):
        raise ConfigError(
            f"in_layers (adaptation.in_layers in a config): expected numbers of layers from 0 to "
            f"{num_layers - 1}, each once, got {list(in_layers)}"
        )


@contextlib.contextmanager
def extended(layer: keras.layers.Layer) -> Iterator[None]:
    """Inside, a built layer takes new parts, whose names are inside of its own."""
    with keras.name_scope(layer.name, caller=layer):
        layer._tracker.unlock()
        yield
        layer._tracker.lock()


def with_adapter_group(
    groups: list[tuple[str, list[keras.Variable]]],
    layers: list[keras.layers.Layer],
    name: str,
) -> list[tuple[str, list[keras.Variable]]]:
    """Moves the weights of `layers` into a group `name`, the last; still a partition.

    Without such layers the groups stay as they are.
    """
    if not layers:
        return groups
    added = [weight for layer in layers for weight in layer.weights]
    moved = set(map(id, added))
    rest = [(group, [w for w in weights if id(w) not in moved]) for group, weights in groups]
    return [*rest, (name, added)]


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
