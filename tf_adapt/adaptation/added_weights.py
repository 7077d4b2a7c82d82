"""Adaptations that train what is added to an encoder, or its biases. Imports no TensorFlow."""

from collections.abc import Sequence

from hub_modules.native.added.settings import (
    Added,
    Biases,
    BottleneckAdapters,
    Lora,
    ProjectedAdapters,
    check_flag,
)
from tf_adapt.adaptation.phases import HEAD, NEW, Adaptation, Phase, with_settings
from tf_adapt.errors import ConfigError


@with_settings
def adapters(
    kind: str = "bottleneck",
    size: int = 64,
    in_layers: Sequence[int] | None = None,
    activation: str = "gelu",
    operation: str = "dense",
    train_embeddings: bool = False,
    parallel: bool = False,
) -> Adaptation:
    """Adapters, the LayerNorms of their group, and the head; the other weights stay frozen.

    Bottleneck adapters are two small networks in each layer (see `BottleneckAdapter`; native
    transformers, ELMo), `projected_attention` is a narrow attention beside each layer (see
    `ProjectedAttention`; BERT).

    Args:
        kind: "bottleneck" or "projected_attention", for which only `size` can be chosen.
        size: width of the adapters, at least 1; 64 as in adapter-bert.
        in_layers: numbers of the encoder's layers that get adapters, from 0; None: all.
        activation: "gelu" (the encoder's own formula, as in adapter-bert) or "relu".
        operation: "dense", or "convolution": the adapter also reads the two neighbours of each
            position (not causal).
        train_embeddings: whether the lowest group, the embeddings, is trained too, as in the
            hands-on part of Ruder et al. 2019 (there of size 32, at ten times the learning rate).
        parallel: bottleneck adapters beside each attention and feed-forward part, whose input they
            read, in place of behind it (transformers).

    Raises:
        ConfigError: a value is out of range, or not one of this kind.

    References: Houlsby et al. 2019, "Parameter-Efficient Transfer Learning for NLP"; Stickland and
        Murray 2019, "BERT and PALs"; Ruder et al. 2019, "Transfer Learning in NLP" (tutorial); He
        et al. 2022, "Towards a Unified View of Parameter-Efficient Transfer Learning".
    """
    check_flag("train_embeddings", train_embeddings)
    if kind == BottleneckAdapters.kind:
        added = BottleneckAdapters(size, in_layers, activation, operation, parallel)
    elif kind != ProjectedAdapters.kind:
        raise ConfigError(
            f"kind: expected {BottleneckAdapters.kind} or {ProjectedAdapters.kind}, got {kind!r}"
        )
    elif (in_layers, activation, operation, parallel) != (None, "gelu", "dense", False):
        raise ConfigError(
            "kind: expected bottleneck for in_layers, activation, operation and parallel, got "
            "projected_attention, which spans all layers; leave them out"
        )
    else:
        added = ProjectedAdapters(size)
    return _added("adapters", added, (HEAD,), with_lowest=train_embeddings)


@with_settings
def lora(
    rank: int = 8,
    alpha: float = 16.0,
    target: Sequence[str] = ("query", "value"),
    in_layers: Sequence[int] | None = None,
) -> Adaptation:
    """LoRA's matrices and the head; the other weights, biases among them, stay frozen.

    A kernel W becomes `W + (alpha / rank) A B` (transformers that run natively). An export holds
    the sums, and nothing more.

    Args:
        rank: r, columns of A and rows of B, at least 1; 8 as in the RoBERTa runs of the paper.
        alpha: above 0; the summand is scaled by alpha / rank.
        target: some of query, key, value, attention_output, intermediate and output, each once;
            query and value as in the paper.
        in_layers: numbers of the transformer layers that get it, from 0; None: all.

    Raises:
        ConfigError: a value is out of range.

    References: Hu et al. 2021, "LoRA".
    """
    return _added("lora", Lora(rank, alpha, target, in_layers), (HEAD,))


def bitfit() -> Adaptation:
    """The biases of the encoder, β of LayerNorms among them, new embeddings, and the head.

    It adds no weights: all biases that the head reads become one group.

    References: Ben Zaken et al. 2021, "BitFit".
    """
    return _added("bitfit", Biases(), (*NEW, HEAD))


def _added(
    name: str, added: Added, others: tuple[str, ...], with_lowest: bool = False
) -> Adaptation:
    """Trains the group of what is added, these others, and where asked the lowest."""

    def plan(groups):
        if added.group not in groups:
            raise ConfigError(
                f"adaptation: {name} needs an encoder with the group {added.group}, got one "
                f"without; build_model(…, adaptation=ta.{name}()) gives it to a HubEncoder"
            )
        trained = (added.group, *others, *(groups[:1] if with_lowest else ()))
        return [Phase(tuple(name for name in groups if name in trained))]

    return Adaptation(name, plan, added=added)
