"""Which layer groups train when: adaptations as pure functions of the time.

An adaptation turns the groups of a model, bottom to top (`["embeddings", "layer_0", …, "head"]`),
into phases; called with the groups and a time, it says which of them train then. The callback
`tf_adapt.unfreezing.Unfreezing` applies one to a model.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tf_adapt.errors import ConfigError

HEAD, ADAPTERS = "head", "adapters"
UNITS = ("epochs", "steps")


@dataclass(frozen=True)
class Phase:
    """A stretch of a training in which the same groups learn.

    Attributes:
        groups: names of the groups that train, bottom to top.
        length: epochs or steps; None: to the end of the run, or until it is ended early.
    """

    groups: tuple[str, ...]
    length: int | None = None


@dataclass(frozen=True)
class Position:
    """Where a training stands in its phases.

    Attributes:
        phase: index of the phase.
        since: the time, in the adaptation's units, at which it began.
    """

    phase: int = 0
    since: int = 0

    def at(self, phases: Sequence[Phase], time: int) -> "Position":
        """The position at a later time, by the phases' lengths."""
        phase, since = self.phase, self.since
        while (length := phases[phase].length) is not None and time - since >= length:
            phase, since = phase + 1, since + length
        return Position(phase, since)


@dataclass(frozen=True)
class Adaptation:
    """Which groups train when.

    Attributes:
        name: as in a config.
        plan: the groups, bottom to top → the phases, in order; the last has no end.
        unit: of the phases' lengths: "epochs" or "steps".
        patience: epochs without a better dev score after which a phase ends, where the best
            weights so far are restored; None: phases end after their lengths alone.
    """

    name: str
    plan: Callable[[list[str]], list[Phase]]
    unit: str = "epochs"
    patience: int | None = None

    def phases(self, groups: Sequence[str]) -> list[Phase]:
        """The phases for a model with these groups, bottom to top, "head" last.

        Raises:
            ConfigError: the groups do not allow this adaptation.
        """
        return self.plan(list(groups))

    def __call__(self, groups: Sequence[str], time: int) -> tuple[str, ...]:
        """The groups that train at a time in `unit`s, counted from 0, if no phase ends early."""
        phases = self.phases(groups)
        return phases[Position().at(phases, time).phase].groups

    def ever_trained(self, groups: Sequence[str]) -> list[str]:
        """The groups that train in any phase, bottom to top."""
        trained = {name for phase in self.phases(groups) for name in phase.groups}
        return [name for name in groups if name in trained]


def feature_extraction() -> Adaptation:
    """❄: the head alone trains, on the states of a frozen encoder."""
    return Adaptation("feature_extraction", lambda groups: [Phase((HEAD,))])


def fine_tuning() -> Adaptation:
    """🔥: everything trains from the first step."""
    return Adaptation("fine_tuning", lambda groups: [Phase(tuple(groups))])


def two_stage(head_epochs: int | None = None, patience: int | None = None) -> Adaptation:
    """The head first, then everything.

    Args:
        head_epochs: epochs of the first stage, by default 1; with `patience` its largest number,
            by default without bound.
        patience: epochs without a better dev score that end the first stage.
    """
    head_epochs = _length("head_epochs", head_epochs, patience)

    def plan(groups):
        return [Phase((HEAD,), head_epochs), Phase(tuple(groups))]

    return _checked(Adaptation("two_stage", plan, patience=patience))


def top_layers(layers: int = 1) -> Adaptation:
    """The topmost layers of the encoder and all above them; what is below stays frozen.

    Args:
        layers: how many transformer or LSTM layers.
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


def gradual_unfreezing(
    every: int | None = None, unit: str = "epochs", patience: int | None = None
) -> Adaptation:
    """From the top down: the head, then one more group at a time, until everything trains.

    Args:
        every: epochs or steps until the next group joins, by default 1; with `patience` the
            largest number, by default without bound.
        unit: "epochs" or "steps".
        patience: epochs without a better dev score after which the next group joins.

    References: Howard and Ruder 2018, "ULMFiT", section 3.3.
    """
    every = _length("every", every, patience)

    def plan(groups):
        tops = [tuple(groups[start:]) for start in reversed(range(len(groups)))]
        return [*(Phase(top, every) for top in tops[:-1]), Phase(tops[-1])]

    return _checked(Adaptation("gradual_unfreezing", plan, unit, patience))


def chain_thaw(
    every: int | None = None, unit: str = "epochs", patience: int | None = None
) -> Adaptation:
    """The head alone; then each group alone, from the bottom to the top; then everything.

    Args:
        every: epochs or steps of each but the last phase, by default 1; with `patience` the
            largest number, by default without bound.
        unit: "epochs" or "steps".
        patience: epochs without a better dev score that end a phase.

    References: Felbo et al. 2017, "DeepMoji", section 3.3 (there each phase ends by patience, and
        begins with a new optimizer and its own learning rate).
    """
    every = _length("every", every, patience)

    def plan(groups):
        alone = [(HEAD,), *((name,) for name in groups if name != HEAD)]
        return [*(Phase(names, every) for names in alone), Phase(tuple(groups))]

    return _checked(Adaptation("chain_thaw", plan, unit, patience))


def sequential_unfreezing(
    head_epochs: int | None = None, upper_epochs: int | None = None, patience: int | None = None
) -> Adaptation:
    """The new parameters; then all but the lowest group (the embeddings); then everything.

    Args:
        head_epochs: n, epochs in which only the head and adapters train, by default 1.
        upper_epochs: k, epochs in which all but the lowest group train, by default 1.
        patience: epochs without a better dev score that end either phase; n and k are then the
            largest numbers, by default without bound.

    References: Chronopoulou et al. 2019, "SiATL", section 3.2.
    """
    head_epochs = _length("head_epochs", head_epochs, patience)
    upper_epochs = _length("upper_epochs", upper_epochs, patience)

    def plan(groups):
        new = tuple(name for name in groups if name in (ADAPTERS, HEAD))
        return [
            Phase(new, head_epochs),
            Phase(tuple(groups[1:]), upper_epochs),
            Phase(tuple(groups)),
        ]

    return _checked(Adaptation("sequential_unfreezing", plan, patience=patience))


def adapters() -> Adaptation:
    """Adapters, the LayerNorms that belong to them, and the head; the pretrained rest is frozen.

    References: Houlsby et al. 2019, "Parameter-Efficient Transfer Learning for NLP".
    """

    def plan(groups):
        if ADAPTERS not in groups:
            raise ConfigError(
                "adaptation: adapters needs an encoder that has some, got one without; make it "
                'with HubEncoder(…, adapters="bottleneck")'
            )
        return [Phase((ADAPTERS, HEAD))]

    return Adaptation("adapters", plan)


ADAPTATIONS: dict[str, Callable[..., Adaptation]] = {
    "feature_extraction": feature_extraction,
    "fine_tuning": fine_tuning,
    "two_stage": two_stage,
    "top_layers": top_layers,
    "gradual_unfreezing": gradual_unfreezing,
    "chain_thaw": chain_thaw,
    "sequential_unfreezing": sequential_unfreezing,
    "adapters": adapters,
}


def as_adaptation(adaptation: str | Adaptation) -> Adaptation:
    """An adaptation by name, with its defaults; one that is made already, as it is.

    Raises:
        ConfigError: there is none of this name.
    """
    if isinstance(adaptation, Adaptation):
        return adaptation
    if adaptation not in ADAPTATIONS:
        raise ConfigError(
            f"adaptation: expected one of {', '.join(ADAPTATIONS)}, got {adaptation!r}"
        )
    return ADAPTATIONS[adaptation]()


def _length(name: str, given: int | None, patience: int | None) -> int | None:
    """The length of a phase: as given; else 1, or with a patience without bound."""
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
