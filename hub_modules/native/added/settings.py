"""What an adaptation adds to an encoder, as plain values. Imports no TensorFlow."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import ClassVar

from hub_modules.errors import ConfigError

OPERATIONS = ("dense", "convolution")
OWN_ACTIVATIONS = ("gelu", "relu")
# The linear layers of a transformer layer that LoRA can be added to, in the order of computation.
TARGETS = ("query", "key", "value", "attention_output", "intermediate", "output")


@dataclass(frozen=True)
class BottleneckAdapters:
    """The settings of an encoder's bottleneck adapters.

    Args:
        size: width of the adapters, at least 1; 64 as in adapter-bert.
        in_layers: numbers of the encoder's layers that get adapters, from 0; None: all.
        activation: "gelu" (the encoder's own formula, as in adapter-bert) or "relu".
        operation: "dense", or "convolution": the adapter also reads the two neighbours of each
            position.
        parallel: beside each attention and feed-forward part, whose input they read, in place of
            behind it.

    Raises:
        ConfigError: a value is out of range.
    """

    kind: ClassVar[str] = "bottleneck"
    adaptation: ClassVar[str] = "adapters"
    group: ClassVar[str] = "adapters"
    size: int = 64
    in_layers: tuple[int, ...] | None = None
    activation: str = "gelu"
    operation: str = "dense"
    parallel: bool = False

    def __post_init__(self):
        _check_size("size", self.size)
        for name, allowed in (("activation", OWN_ACTIVATIONS), ("operation", OPERATIONS)):
            if getattr(self, name) not in allowed:
                raise ConfigError(
                    f"{name}: expected {' or '.join(allowed)}, got {getattr(self, name)!r}"
                )
        _hold_tuple(self, "in_layers")


@dataclass(frozen=True)
class ProjectedAdapters:
    """The width of one projected attention in parallel to each block: see `ProjectedAttention`.

    Args:
        size: width of the attention, at least 1.

    Raises:
        ConfigError: the size is out of range.
    """

    kind: ClassVar[str] = "projected_attention"
    adaptation: ClassVar[str] = "adapters with kind: projected_attention"
    group: ClassVar[str] = "adapters"
    size: int = 64

    def __post_init__(self):
        _check_size("size", self.size)


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

    kind: ClassVar[str] = "task_attention"
    adaptation: ClassVar[str] = "task_attention"
    group: ClassVar[str] = "adapters"
    tasks: tuple[str, ...]
    size: int = 204

    def __post_init__(self):
        names = () if isinstance(self.tasks, str) else tuple(self.tasks)
        fit = all(
            isinstance(name, str) and name.isascii() and name.isidentifier() for name in names
        )
        if not names or not fit or len(set(names)) < len(names):
            raise ConfigError(
                "tasks: expected a list of names of letters, digits and _, no digit first, each "
                f"once, got {self.tasks!r}"
            )
        _hold_tuple(self, "tasks")
        _check_size("task_attention", self.size)


@dataclass(frozen=True)
class Lora:
    """Which kernels of an encoder get a low-rank summand, and of which size: see `LowRank`.

    Args:
        rank: r, columns of A and rows of B, at least 1; 8 as in the RoBERTa runs of the paper.
        alpha: above 0; the summand is scaled by alpha / rank.
        target: some of `TARGETS`, each once; query and value as in the paper.
        in_layers: numbers of the transformer layers that get it, from 0; None: all.

    Raises:
        ConfigError: a value is out of range.

    Source: Hu et al. 2021, "LoRA".
    """

    kind: ClassVar[str] = "lora"
    adaptation: ClassVar[str] = "lora"
    group: ClassVar[str] = "lora"
    rank: int = 8
    alpha: float = 16.0
    target: tuple[str, ...] = ("query", "value")
    in_layers: tuple[int, ...] | None = None

    def __post_init__(self):
        _check_size("rank", self.rank)
        if not isinstance(self.alpha, int | float) or not 0 < self.alpha < math.inf:
            raise ConfigError(f"alpha: expected a number above 0, got {self.alpha!r}")
        target = tuple(self.target)
        if not target or len(set(target)) < len(target) or not set(target) <= set(TARGETS):
            raise ConfigError(
                f"target: expected some of {', '.join(TARGETS)}, each once, got "
                f"{', '.join(map(str, target)) or 'none'}"
            )
        object.__setattr__(self, "alpha", float(self.alpha))
        _hold_tuple(self, "target")
        _hold_tuple(self, "in_layers")


@dataclass(frozen=True)
class Biases:
    """No new weights: all biases that a head reads, β of LayerNorms among them, are a group."""

    kind: ClassVar[str] = "biases"
    adaptation: ClassVar[str] = "bitfit"
    group: ClassVar[str] = "biases"


Added = BottleneckAdapters | ProjectedAdapters | TaskAttention | Lora | Biases
KINDS = {
    made.kind: made for made in (BottleneckAdapters, ProjectedAdapters, TaskAttention, Lora, Biases)
}


def as_values(added: Added | None) -> dict | None:
    """Plain values, with lists in place of tuples, for configs of Keras; None of None."""
    if added is None:
        return None
    values = {n: list(v) if isinstance(v, tuple) else v for n, v in asdict(added).items()}
    return {"kind": added.kind} | values


def of_values(values: dict | None) -> Added | None:
    """The value of `as_values`."""
    if values is None:
        return None
    return KINDS[values["kind"]](**{name: v for name, v in values.items() if name != "kind"})


def with_added(config: dict) -> dict:
    """A layer's config with its `added` as a value again; that of an earlier version, which had
    `adapters`, `adapter_size`, `lora` and `bitfit` in its place, too."""
    if "adapters" not in config:
        return config | {"added": of_values(config.get("added"))}
    before = ("adapters", "adapter_size", "lora", "bitfit")
    given = config.get("lora") or config["adapters"]
    if config.get("bitfit"):
        added = Biases()
    elif isinstance(given, str):
        added = KINDS[given](config["adapter_size"])
    elif given is not None:  # as Keras wrote a registered class
        added = {made.__name__: made for made in KINDS.values()}[given["class_name"]](
            **given["config"]
        )
    else:
        added = None
    return {n: value for n, value in config.items() if n not in before} | {"added": added}


def is_chosen(in_layers: Sequence[int] | None, index: int) -> bool:
    """Whether a layer is among those of `in_layers`; None: all are."""
    return in_layers is None or index in in_layers


def _check_size(name: str, size: int) -> None:
    if type(size) is not int or size < 1:
        raise ConfigError(f"{name}: expected a whole number of at least 1, got {size!r}")


def _hold_tuple(settings, name: str) -> None:
    value = getattr(settings, name)
    object.__setattr__(settings, name, None if value is None else tuple(value))
