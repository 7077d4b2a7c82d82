"""What an adaptation adds to an encoder, as plain values. Imports no TensorFlow."""

import math
from collections.abc import Iterable, Sequence
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
        check_count("size", self.size)
        for name, allowed in (("activation", OWN_ACTIVATIONS), ("operation", OPERATIONS)):
            if getattr(self, name) not in allowed:
                raise ConfigError(
                    f"{name}: expected {' or '.join(allowed)}, got {getattr(self, name)!r}"
                )
        check_flag("parallel", self.parallel)
        _hold_layers(self)


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
        check_count("size", self.size)


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
        wanted = "names of letters, digits and _, no digit first, each once"
        _hold_tuple(self, "tasks", wanted)
        names = self.tasks
        fit = all(
            isinstance(name, str) and name.isascii() and name.isidentifier() for name in names
        )
        if not names or not fit or len(set(names)) < len(names):
            raise ConfigError(f"tasks: expected a list of {wanted}, got {list(names)!r}")
        check_count("task_attention", self.size)


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
        check_count("rank", self.rank)
        is_number = isinstance(self.alpha, int | float) and not isinstance(self.alpha, bool)
        if not is_number or not 0 < self.alpha < math.inf:
            raise ConfigError(f"alpha: expected a number above 0, got {self.alpha!r}")
        object.__setattr__(self, "alpha", float(self.alpha))
        wanted = f"some of {', '.join(TARGETS)}, each once"
        _hold_tuple(self, "target", wanted)
        known = [name for name in TARGETS if name in self.target]
        if not known or len(known) < len(self.target):
            raise ConfigError(
                f"target: expected {wanted}, got {', '.join(map(str, self.target)) or 'none'}"
            )
        _hold_layers(self)


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


def check_count(name: str, count: int) -> None:
    """Checks an argument.

    Raises:
        ConfigError: it is no whole number of at least 1.
    """
    if type(count) is not int or count < 1:
        raise ConfigError(f"{name}: expected a whole number of at least 1, got {count!r}")


def check_flag(name: str, flag: bool) -> None:
    """Checks an argument.

    Raises:
        ConfigError: it is neither True nor False.
    """
    if not isinstance(flag, bool):
        raise ConfigError(f"{name}: expected True or False, got {flag!r}")


def _hold_layers(settings) -> None:
    if settings.in_layers is not None:
        _hold_tuple(settings, "in_layers", "numbers of layers from 0")


def _hold_tuple(settings, name: str, wanted: str) -> None:
    value = getattr(settings, name)
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise ConfigError(f"{name}: expected a list of {wanted}, got {value!r}")
    object.__setattr__(settings, name, tuple(value))
