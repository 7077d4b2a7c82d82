"""The plan of a run: trainable groups, parameters and learning rates at each step."""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from hub_modules.native.weights import count_parameters
from tf_adapt.adaptation.phases import HEAD, Adaptation, Position
from tf_adapt.adaptation.schedules import Schedule
from tf_adapt.layers.moving_averages import moving_averages
from tf_adapt.models.adapted_model import AdaptedModel
from tf_adapt.training.epoch_lengths import EpochLengths

Stretch = tuple[int, int]  # first step, first step after
MOST_ROWS = 100  # of a plan, not counting those that begin with a phase
MOST_STEPS_OF_A_MEAN = 100_000


@dataclass(frozen=True)
class Plan:
    """Which groups are trained in which step of a run, and at what rate, if no phase ends early.

    Attributes:
        groups: names of the model's groups, bottom to top, the head last.
        schedule: number of steps, and what the rate is multiplied by → schedule.
        per_phase: whether each phase has its own schedule.
        first_phase: what the rate of the first phase is multiplied by then.
        last_from, last_steps: see `EpochLengths`.
    """

    adaptation: Adaptation
    groups: tuple[str, ...]
    epochs: int
    steps_per_epoch: int
    schedule: Callable[[int, float], Schedule]
    per_phase: bool = False
    first_phase: float = 1.0
    last_from: int | None = None
    last_steps: int | None = None

    @property
    def lengths(self) -> EpochLengths:
        """The number of steps of each epoch."""
        return EpochLengths(self.steps_per_epoch, self.last_from, self.last_steps)

    @property
    def steps(self) -> int:
        """Steps of the whole run."""
        return self.lengths.start(self.epochs)

    def rate(self, step: int) -> float:
        """The learning rate at a step from 0, before the factor of each group."""
        start, schedule = self._schedule_at(step)
        return schedule.rate(step - start)

    def stretches(self) -> list[Stretch]:
        """The steps of each phase that begins within the run."""
        in_epochs = self.adaptation.unit == "epochs"
        stretches, start, time = [], 0, 0
        for phase in self.adaptation.phases(self.groups):
            time += self.steps if phase.length is None else phase.length
            end = min(self.steps, self.lengths.start(time) if in_epochs else time)
            if start < self.steps:
                stretches.append((start, end))
            start = end
        return stretches

    def rows(self, model: AdaptedModel) -> list[dict[str, Any]]:
        """One row for each range of steps within an epoch and a phase.

        Each has `epoch` and `phase` (from 1), `steps` (first and last, from 1), `groups`,
        `parameters` (trainable ones) and `rates`: for each trainable group the mean over the steps.
        With more than `MOST_ROWS` epochs a row covers several epochs of one phase, and has
        `last_epoch`.
        """
        phases = self.adaptation.phases(self.groups)
        sizes = {name: count_parameters(weights) for name, weights in groups_with_weights(model)}
        factors = model.unscaled_optimizer.factors
        rows = []
        for start, end in self._rows():
            epoch, last_epoch = self.lengths.epoch_of(start), self.lengths.epoch_of(end - 1)
            time = start if self.adaptation.unit == "steps" else epoch
            phase = Position().at(phases, time).phase
            names = phases[phase].groups
            mean = self._mean_rate(start, end)
            rows.append(
                {
                    "epoch": epoch + 1,
                    **({} if last_epoch == epoch else {"last_epoch": last_epoch + 1}),
                    "steps": [start + 1, end],
                    "phase": phase + 1,
                    "groups": list(names),
                    "parameters": sum(sizes[name] for name in names),
                    "rates": {name: mean * factors[name] for name in names},
                }
            )
        return rows

    def _rows(self) -> list[Stretch]:
        length = -(-self.epochs // MOST_ROWS)
        phases = (start for start, _ in self.stretches())
        starts = sorted({*map(self.lengths.start, range(0, self.epochs, length)), *phases})
        return list(zip(starts, [*starts[1:], self.steps], strict=True))

    @functools.cached_property
    def _schedules(self) -> list[tuple[int, Schedule]]:
        """(first step, schedule) of each schedule."""
        if not self.per_phase:
            return [(0, self.schedule(self.steps, 1.0))]
        return [
            (start, self.schedule(max(1, end - start), 1.0 if start else self.first_phase))
            for start, end in self.stretches()
        ]

    def _schedule_at(self, step: int) -> tuple[int, Schedule]:
        return [begun for begun in self._schedules if begun[0] <= step][-1]

    def _mean_rate(self, first: int, end: int) -> float:
        """Mean over the steps, at most `MOST_STEPS_OF_A_MEAN` of them, evenly spaced."""
        start, schedule = self._schedule_at(first)
        count = min(end - first, MOST_STEPS_OF_A_MEAN)
        return float(schedule.rates(np.linspace(first - start, end - 1 - start, count)).mean())


def groups_with_weights(model: AdaptedModel) -> list[tuple[str, list]]:
    """(name, weights) of a model's adaptable groups, bottom to top, the head last."""
    adaptable = model.encoder.adaptable_groups
    groups = [group for group in model.encoder.layer_groups if group[0] in adaptable]
    inside = {id(weight) for weight in model.encoder.weights}
    averages = {id(weight) for weight in moving_averages(model)}
    head = [weight for weight in model.weights if id(weight) not in inside | averages]
    return [*groups, (HEAD, head)]
