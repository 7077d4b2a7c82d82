"""Adaptations by name: what each adds to an encoder, and its phases. Imports no TensorFlow."""

import functools
import inspect
import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from hub_modules.native.added.settings import (
    Added,
    Biases,
    BottleneckAdapters,
    Lora,
    ProjectedAdapters,
)
from tf_adapt.adaptation.phases import HEAD, NEW, Adaptation, Phase
from tf_adapt.errors import ConfigError

UNITS = ("epochs", "steps")


def _with_settings(make: Callable[..., Adaptation]) -> Callable[..., Adaptation]:
    """A function of an adaptation that notes the arguments that it was called with."""

    @functools.wraps(make)
    def made(*args, **kwargs) -> Adaptation:
        given = inspect.signature(make).bind(*args, **kwargs).arguments
        return replace(make(*args, **kwargs), settings=dict(given))

    return made


def _new(groups: list[str]) -> tuple[str, ...]:
    """The groups without pretraining, bottom to top: the head is the last."""
    return tuple(name for name in groups if name in (*NEW, HEAD))


def feature_extraction() -> Adaptation:
    """❄: only the head is trained, on the hidden states of a frozen encoder."""
    return Adaptation("feature_extraction", lambda groups: [Phase((HEAD,))], trains_encoder=False)


@_with_settings
def fine_tuning(reinitialise: int | None = None) -> Adaptation:
    """🔥: all groups are trainable from the first step.

    Args:
        reinitialise: number of the topmost layers that start, with a pooler, from random weights
            in place of the pretrained ones (native transformers); None: none.

    References: Zhang et al. 2021, "Revisiting Few-sample BERT Fine-tuning", section 5.
    """
    if reinitialise is not None:
        _check_count("reinitialise", reinitialise)
    return Adaptation(
        "fine_tuning", lambda groups: [Phase(tuple(groups))], reinitialised=reinitialise or 0
    )


@_with_settings
def two_stage(head_epochs: int | None = None, patience: int | None = None) -> Adaptation:
    """The head first, with all that has no pretraining, then all groups: LP-FT.

    Args:
        head_epochs: epochs of the first stage, by default 1; with `patience` their maximum, by
            default unlimited.
        patience: epochs without a better dev score that end the first stage.

    References: Kumar et al. 2022, "Fine-Tuning can Distort Pretrained Features".
    """
    head_epochs = _length("head_epochs", head_epochs, patience)

    def plan(groups):
        return [Phase(_new(groups), head_epochs), Phase(tuple(groups))]

    return _checked(Adaptation("two_stage", plan, patience=patience))


@_with_settings
def top_layers(layers: int = 1) -> Adaptation:
    """The topmost layers of the encoder and all groups above; the groups below stay frozen.

    Args:
        layers: number of transformer or LSTM layers.
    """
    _check_count("layers", layers)

    def plan(groups):
        numbered = [name for name in groups if re.fullmatch(r"(layer|lstm)_\d+", name)]
        if layers > len(numbered):
            raise ConfigError(
                f"adaptation: top_layers: expected at most {len(numbered)} layers, got {layers}; "
                f"the encoder has {', '.join(numbered) or 'none'}"
            )
        return [Phase(tuple(groups[groups.index(numbered[-layers]) :]))]

    return Adaptation("top_layers", plan)


@_with_settings
def gradual_unfreezing(
    every: int | None = None, unit: str = "epochs", patience: int | None = None
) -> Adaptation:
    """From the top down: the head, then one more group at a time, until all are trainable.

    Groups without pretraining (adapters, LoRA, new embeddings) are trained from the beginning.

    Args:
        every: epochs or steps until the next group is unfrozen, by default 1; with `patience` their
            maximum, by default unlimited.
        unit: "epochs" or "steps".
        patience: epochs without a better dev score after which the next group is unfrozen.

    References: Howard and Ruder 2018, "ULMFiT", section 3.3.
    """
    every = _length("every", every, patience)

    def plan(groups):
        phases = [Phase(_new(groups), every)]
        for lowest in reversed([name for name in groups if name not in phases[0].groups]):
            trained = {*phases[-1].groups, lowest}
            phases.append(Phase(tuple(name for name in groups if name in trained), every))
        return [*phases[:-1], Phase(phases[-1].groups)]

    return _checked(Adaptation("gradual_unfreezing", plan, unit, patience))


@_with_settings
def chain_thaw(
    every: int | None = None, unit: str = "epochs", patience: int | None = None
) -> Adaptation:
    """The head, with all that has no pretraining; then each other group alone, from bottom to top;
    then all groups.

    Args:
        every: epochs or steps of each phase but the last, by default 1; with `patience` their
            maximum, by default unlimited.
        unit: "epochs" or "steps".
        patience: epochs without a better dev score that end a phase.

    References: Felbo et al. 2017, "DeepMoji", section 3.3 (there each phase ends by patience, and
        starts with a new optimizer and its own learning rate).
    """
    every = _length("every", every, patience)

    def plan(groups):
        new = _new(groups)
        alone = [new, *((name,) for name in groups if name not in new)]
        return [*(Phase(names, every) for names in alone), Phase(tuple(groups))]

    return _checked(Adaptation("chain_thaw", plan, unit, patience))


@_with_settings
def sequential_unfreezing(
    head_epochs: int | None = None, upper_epochs: int | None = None, patience: int | None = None
) -> Adaptation:
    """The new parameters; then all but the lowest group (the embeddings); then all groups.

    Args:
        head_epochs: n, epochs in which only what has no pretraining is trained, by default 1.
        upper_epochs: k, epochs in which all but the lowest group are trained, by default 1.
        patience: epochs without a better dev score that end either phase; n and k are then maxima,
            by default unlimited.

    References: Chronopoulou et al. 2019, "SiATL", section 3.2.
    """
    head_epochs = _length("head_epochs", head_epochs, patience)
    upper_epochs = _length("upper_epochs", upper_epochs, patience)

    def plan(groups):
        return [
            Phase(_new(groups), head_epochs),
            Phase(tuple(groups[1:]), upper_epochs),
            Phase(tuple(groups)),
        ]

    return _checked(Adaptation("sequential_unfreezing", plan, patience=patience))


@_with_settings
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


@_with_settings
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


@_with_settings
def contrastive(iterations: int = 20) -> Adaptation:
    """The encoder on pairs of texts; after each epoch the head, in closed form, on its states.

    Classification: `mean (cos(u, v) − y)²` over pairs of texts with the vectors u and v that the
    head `linear` reads, y is 1 for equal labels and 0 for others; the head is the logistic
    regression on the vectors of the training texts. Pairs with scores: CoSENT, the cosines of the
    pairs in the order of their scores; the head `cosine` is the line through them.

    Args:
        iterations: for each text of a classification, the pairs with a text of its label, and as
            many with a text of another, that are drawn anew for each epoch; 20 as in SetFit.

    References: Tunstall et al. 2022, "Efficient Few-Shot Learning Without Prompts" (SetFit).
    """
    _check_count("iterations", iterations)

    def plan(groups):
        return [Phase(tuple(name for name in groups if name != HEAD))]

    return Adaptation("contrastive", plan, pairs=iterations)


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


ADAPTATIONS: dict[str, Callable[..., Adaptation]] = {
    "feature_extraction": feature_extraction,
    "fine_tuning": fine_tuning,
    "two_stage": two_stage,
    "top_layers": top_layers,
    "gradual_unfreezing": gradual_unfreezing,
    "chain_thaw": chain_thaw,
    "sequential_unfreezing": sequential_unfreezing,
    "adapters": adapters,
    "lora": lora,
    "bitfit": bitfit,
    "contrastive": contrastive,
}
# Accepted in configs; everything we write uses the names above.
SHORT_NAMES = {"freeze": "feature_extraction", "tune": "fine_tuning"}


def as_adaptation(adaptation: str | Adaptation) -> Adaptation:
    """An adaptation by name (`freeze` and `tune` too) with its defaults; an `Adaptation` unchanged.

    Raises:
        ConfigError: there is no adaptation of this name, or it is neither.
    """
    if isinstance(adaptation, Adaptation):
        return adaptation
    names = (*ADAPTATIONS, *SHORT_NAMES)
    if not isinstance(adaptation, str) or adaptation not in names:
        raise ConfigError(
            f"adaptation: expected one of {', '.join(names)}, or an object as ta.lora(rank=8), got "
            f"{adaptation!r}"
        )
    return ADAPTATIONS[SHORT_NAMES.get(adaptation, adaptation)]()


def _length(name: str, given: int | None, patience: int | None) -> int | None:
    """The length of a phase: as given; else 1, or with patience None (unlimited)."""
    if given is None:
        return None if patience is not None else 1
    _check_count(name, given)
    return given


def _check_count(name: str, count: int) -> None:
    if not isinstance(count, int) or count < 1:
        raise ConfigError(f"{name}: expected a whole number of at least 1, got {count!r}")


def _checked(adaptation: Adaptation) -> Adaptation:
    if adaptation.unit not in UNITS:
        raise ConfigError(f"unit: expected one of {', '.join(UNITS)}, got {adaptation.unit!r}")
    if adaptation.patience is not None:
        _check_count("patience", adaptation.patience)
        if adaptation.unit != "epochs":
            raise ConfigError(
                "patience: expected unit: epochs, after each of which the dev score is known, got "
                f"unit: {adaptation.unit}"
            )
    return adaptation
