"""Adaptations by name: what each adds to an encoder, and its phases. Imports no TensorFlow."""

import re
from collections.abc import Callable

from hub_modules.native.added.settings import check_count
from tf_adapt.adaptation.added_weights import adapters, bitfit, lora
from tf_adapt.adaptation.phases import HEAD, NEW, Adaptation, Phase, with_settings
from tf_adapt.errors import ConfigError
from tf_adapt.printing.words import did_you_mean

UNITS = ("epochs", "steps")


def _new(groups: list[str]) -> tuple[str, ...]:
    """The groups without pretraining, bottom to top: the head is the last."""
    return tuple(name for name in groups if name in (*NEW, HEAD))


def feature_extraction() -> Adaptation:
    """❄: only the head is trained, on the hidden states of a frozen encoder."""
    return Adaptation("feature_extraction", lambda groups: [Phase((HEAD,))], trains_encoder=False)


@with_settings
def fine_tuning(reinitialise: int | None = None) -> Adaptation:
    """🔥: all groups are trainable from the first step.

    Args:
        reinitialise: number of the topmost layers that start, with a pooler, from random weights
            in place of the pretrained ones (native transformers, not below a language model's
            output layer); None: none.

    References: Zhang et al. 2021, "Revisiting Few-sample BERT Fine-tuning", section 5.
    """
    if reinitialise is not None:
        check_count("reinitialise", reinitialise)
    return Adaptation(
        "fine_tuning", lambda groups: [Phase(tuple(groups))], reinitialised=reinitialise or 0
    )


@with_settings
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


@with_settings
def top_layers(layers: int = 1) -> Adaptation:
    """The topmost layers of the encoder and all groups above; the groups below stay frozen.

    Args:
        layers: number of transformer or LSTM layers.
    """
    check_count("layers", layers)

    def plan(groups):
        numbered = [name for name in groups if re.fullmatch(r"(layer|lstm)_\d+", name)]
        if layers > len(numbered):
            raise ConfigError(
                f"adaptation: top_layers: expected at most {len(numbered)} layers, got {layers}; "
                f"the encoder has {', '.join(numbered) or 'none'}"
            )
        return [Phase(tuple(groups[groups.index(numbered[-layers]) :]))]

    return Adaptation("top_layers", plan)


@with_settings
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


@with_settings
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


@with_settings
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


@with_settings
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
    check_count("iterations", iterations)

    def plan(groups):
        return [Phase(tuple(name for name in groups if name != HEAD))]

    return Adaptation("contrastive", plan, pairs=iterations)


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
            f"{adaptation!r}{did_you_mean(str(adaptation), ADAPTATIONS)}"
        )
    return ADAPTATIONS[SHORT_NAMES.get(adaptation, adaptation)]()


def _length(name: str, given: int | None, patience: int | None) -> int | None:
    """The length of a phase: as given; else 1, or with patience None (unlimited)."""
    if given is None:
        return None if patience is not None else 1
    check_count(name, given)
    return given


def _checked(adaptation: Adaptation) -> Adaptation:
    if adaptation.unit not in UNITS:
        raise ConfigError(f"unit: expected one of {', '.join(UNITS)}, got {adaptation.unit!r}")
    if adaptation.patience is not None:
        check_count("patience", adaptation.patience)
        if adaptation.unit != "epochs":
            raise ConfigError(
                "patience: expected unit: epochs, after each of which the dev score is known, got "
                f"unit: {adaptation.unit}"
            )
    return adaptation
