"""Adaptations: what they add to an encoder, and which layer groups are trainable, as a pure
function of the epoch or step. Imports no TensorFlow.

An adaptation maps the groups of a model, bottom to top (`["embeddings", "layer_0", …, "head"]`), to
phases; called with the groups and an epoch or step, it returns the trainable groups. The callback
`tf_adapt.adaptation.unfreezing.Unfreezing` applies one to a model.
"""

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from hub_modules.native.added.settings import (
    Added,
    Biases,
    BottleneckAdapters,
    Lora,
)

HEAD, ADAPTERS, LORA, BIASES = "head", BottleneckAdapters.group, Lora.group, Biases.group
# Groups of an encoder without pretraining. They belong to the task, as the head does.
NEW = ("new_embeddings", ADAPTERS, LORA)
# Groups that are in no one layer: below which nothing is frozen.
ACROSS = (*NEW, BIASES)


@dataclass(frozen=True)
class Phase:
    """A part of training with a fixed set of trainable groups.

    Attributes:
        groups: names of the trainable groups, bottom to top.
        length: epochs or steps; None: to the end of the run, or until patience runs out.
    """

    groups: tuple[str, ...]
    length: int | None = None


@dataclass(frozen=True)
class Position:
    """The current phase of a training.

    Attributes:
        phase: index of the phase.
        since: the epoch or step at which it began.
    """

    phase: int = 0
    since: int = 0

    def at(self, phases: Sequence[Phase], time: int) -> "Position":
        """The position at a later epoch or step, by the phases' lengths."""
        phase, since = self.phase, self.since
        while (length := phases[phase].length) is not None and time - since >= length:
            phase, since = phase + 1, since + length
        return Position(phase, since)


@dataclass(frozen=True)
class Adaptation:
    """What is added to an encoder, and which groups are trainable when.

    Attributes:
        name: as in a config.
        plan: groups, bottom to top → phases, in order; the last has no length.
        unit: unit of the phases' lengths: "epochs" or "steps".
        patience: epochs without a better dev score after which a phase ends; the best weights so
            far are restored at the end of each phase. None: only lengths end phases.
        added: what the encoder is given before, by `build_model`; None: nothing.
        settings: the arguments that it was made with, as in a config.
        reinitialised: how many of the topmost layers get new random weights before.
        trains_encoder: False where the encoder stays frozen for the whole run.
        pairs: of contrastive tuning, how many pairs of texts with equal labels, and how many with
            others, are drawn for each text; None: it trains on the task's own loss.
    """

    name: str
    plan: Callable[[list[str]], list[Phase]]
    unit: str = "epochs"
    patience: int | None = None
    added: Added | None = None
    settings: Mapping[str, Any] = field(default_factory=dict, hash=False)
    trains_encoder: bool = True
    reinitialised: int = 0
    pairs: int | None = None

    def section(self) -> dict[str, Any]:
        """The adaptation as a config has it."""
        return {"name": self.name, **self.settings}

    def phases(self, groups: Sequence[str]) -> list[Phase]:
        """The phases for a model with these groups, bottom to top, "head" last.

        Raises:
            ConfigError: the groups do not allow this adaptation.
        """
        return self.plan(list(groups))

    def __call__(self, groups: Sequence[str], time: int) -> tuple[str, ...]:
        """The trainable groups in an epoch or step (`unit`) from 0, if no phase ends early."""
        phases = self.phases(groups)
        return phases[Position().at(phases, time).phase].groups

    def as_values(self, groups: Sequence[str]) -> dict[str, Any]:
        """The adaptation of a model with these groups as plain values, for saving."""
        phases = [[list(phase.groups), phase.length] for phase in self.phases(groups)]
        return {
            "name": self.name,
            "phases": phases,
            "unit": self.unit,
            "patience": self.patience,
            **({} if self.pairs is None else {"pairs": self.pairs}),
        }

    @classmethod
    def of_values(cls, values: dict[str, Any]) -> "Adaptation":
        """The adaptation of `as_values`, for a model with the same groups."""
        phases = [Phase(tuple(groups), length) for groups, length in values["phases"]]
        trains = any(set(phase.groups) - {HEAD} for phase in phases)
        name, unit, patience = (values[key] for key in ("name", "unit", "patience"))
        pairs = values.get("pairs")
        return cls(name, lambda groups: phases, unit, patience, trains_encoder=trains, pairs=pairs)

    def ever_trained(self, groups: Sequence[str]) -> list[str]:
        """The groups that are trainable in any phase, bottom to top."""
        trained = {name for phase in self.phases(groups) for name in phase.groups}
        return [name for name in groups if name in trained]


def with_settings(make: Callable[..., Adaptation]) -> Callable[..., Adaptation]:
    """A function of an adaptation that notes the arguments that it was called with."""

    @functools.wraps(make)
    def made(*args, **kwargs) -> Adaptation:
        given = inspect.signature(make).bind(*args, **kwargs).arguments
        return replace(make(*args, **kwargs), settings=dict(given))

    return made
