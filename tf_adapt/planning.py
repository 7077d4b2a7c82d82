"""What a run is going to do at each step, before it does it: its groups, parameters and rates."""

from collections.abc import Callable, Sequence
from typing import Any

from hub_modules.weights import count_parameters
from tf_adapt.adaptation import HEAD, Adaptation, Position
from tf_adapt.config_sections import Config
from tf_adapt.model import AdaptedModel
from tf_adapt.schedules import Constant, CosineDecay, LinearDecay, Schedule, SlantedTriangular
from tf_adapt.unfreezing import groups_of

Stretch = tuple[int, int]  # first step, first step after


def planned_rate(
    config: Config, adaptation: Adaptation, groups: Sequence[str], steps_per_epoch: int
) -> Callable[[int], float]:
    """The learning rate of the head as a function of the step, counted from 0."""
    total = config.training.epochs * steps_per_epoch
    if not config.schedule.per_phase:
        return _schedule(config, total).rate
    stretches = phase_stretches(adaptation, groups, steps_per_epoch, total)
    schedules = [(start, _schedule(config, max(1, end - start))) for start, end in stretches]

    def rate(step: int) -> float:
        start, schedule = [found for found in schedules if found[0] <= step][-1]
        return schedule.rate(step - start)

    return rate


def phase_stretches(
    adaptation: Adaptation, groups: Sequence[str], steps_per_epoch: int, total: int
) -> list[Stretch]:
    """The steps of each phase that begins within a run of `total` steps, if none ends early."""
    unit = steps_per_epoch if adaptation.unit == "epochs" else 1
    stretches, start = [], 0
    for phase in adaptation.phases(groups):
        end = total if phase.length is None else min(total, start + phase.length * unit)
        if start < total:
            stretches.append((start, end))
        start = end
    return stretches


def plan(
    config: Config, adaptation: Adaptation, model: AdaptedModel, steps_per_epoch: int
) -> list[dict[str, Any]]:
    """One row for each stretch of steps within an epoch and a phase.

    Each has `epoch` and `phase` (from 1), `steps` (first and last, from 1), `groups`, `parameters`
    (that train) and `rates`: the mean over the steps for each group that trains.
    """
    groups = groups_of(model.encoder)
    phases = adaptation.phases(groups)
    rate = planned_rate(config, adaptation, groups, steps_per_epoch)
    sizes = {name: count_parameters(weights) for name, weights in groups_with_weights(model)}
    rows = []
    for start, end in _rows(config, adaptation, groups, steps_per_epoch):
        time = start // steps_per_epoch if adaptation.unit == "epochs" else start
        phase = Position().at(phases, time).phase
        mean = sum(rate(step) for step in range(start, end)) / (end - start)
        names = phases[phase].groups
        rows.append(
            {
                "epoch": start // steps_per_epoch + 1,
                "steps": [start + 1, end],
                "phase": phase + 1,
                "groups": list(names),
                "parameters": sum(sizes[name] for name in names),
                "rates": {name: mean * model.unscaled_optimizer.factors[name] for name in names},
            }
        )
    return rows


def groups_with_weights(model: AdaptedModel) -> list[tuple[str, list]]:
    """The layer groups of a model that can train, bottom to top, the head last."""
    adaptable = model.encoder.adaptable_groups
    groups = [group for group in model.encoder.layer_groups if group[0] in adaptable]
    inside = {id(weight) for weight in model.encoder.weights}
    return [*groups, (HEAD, [weight for weight in model.weights if id(weight) not in inside])]


def _rows(
    config: Config, adaptation: Adaptation, groups: Sequence[str], steps_per_epoch: int
) -> list[Stretch]:
    total = config.training.epochs * steps_per_epoch
    phases = phase_stretches(adaptation, groups, steps_per_epoch, total)
    starts = sorted({*range(0, total, steps_per_epoch), *(start for start, _ in phases)})
    return list(zip(starts, [*starts[1:], total], strict=True))


def _schedule(config: Config, total: int) -> Schedule:
    peak, share = float(config.training.learning_rate), config.training.warmup
    warmup_steps = round(share * total)
    match config.schedule.name:
        case "slanted_triangular":
            ratio, denominator = config.schedule.ratio, config.schedule.denominator
            return SlantedTriangular(peak, total, share, ratio, denominator)
        case "cosine_decay":
            return CosineDecay(peak, total, warmup_steps)
        case "constant":
            return Constant(peak, warmup_steps)
        case _:
            return LinearDecay(peak, total, warmup_steps)
