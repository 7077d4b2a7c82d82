"""Which layers' states need computing only once: up to where an encoder stays frozen, and when."""

from collections.abc import Collection, Sequence

from tf_adapt.adaptation import ADAPTERS, Adaptation, Phase, Position

# Looking them up again is as fast as reading kept states.
LOOKED_UP = ("embeddings",)


def layers_to_keep(
    adaptation: Adaptation,
    groups: Sequence[str],
    layers: Sequence[str],
    epochs: int,
    steps_per_epoch: int,
    epoch: int,
    phase: int,
    room: int,
) -> list[str]:
    """The highest layer that stays frozen in an epoch, then those that later epochs start from.

    One pass over the texts gives the states of all of them: nothing up to any of them learns before
    it is used. Empty where the lowest layer learns, and where one epoch alone would use a pass,
    which then saves nothing. Depends on where the training stands, not on where it was resumed.

    Args:
        groups: that the adaptation's phases are made from: see `Adaptation.phases`.
        layers: names of the groups whose states come out of the encoder, bottom to top.
        epochs: of the whole run.
        epoch: from 0.
        phase: index of the present phase; used where a patience may end phases early.
        room: for how many layers' states there is room at a time.
    """
    phases = adaptation.phases(groups)
    if adaptation.patience is None:
        learning = [
            _learning(phases, adaptation.unit, number, steps_per_epoch) for number in range(epochs)
        ]
        return _served(layers, learning, epoch, room)
    # How long each phase is going to last is not known: more than one epoch, as a rule.
    return _served(layers, [one.groups for one in phases for _ in range(2)], 2 * phase, room)


def boundary(layers: Sequence[str], learning: Collection[str]) -> int | None:
    """Number of the highest layer with nothing that learns in it or below; None: keep nothing.

    Adapters lie across all layers.
    """
    if ADAPTERS in learning:
        return None
    frozen = 0
    while frozen < len(layers) and layers[frozen] not in learning:
        frozen += 1
    return None if frozen == 0 or layers[frozen - 1] in LOOKED_UP else frozen - 1


def _learning(phases: list[Phase], unit: str, epoch: int, steps_per_epoch: int) -> set[str]:
    """The groups that learn at any time in an epoch."""
    length = 1 if unit == "epochs" else steps_per_epoch
    first, last = (
        Position().at(phases, time).phase for time in (epoch * length, (epoch + 1) * length - 1)
    )
    return {name for phase in phases[first : last + 1] for name in phase.groups}


def _served(
    layers: Sequence[str], learning: Sequence[Collection[str]], now: int, room: int
) -> list[str]:
    """The layers of all times from `now` on that are served by one pass, without repetition."""
    found = [boundary(layers, names) for names in learning]

    def goes_on(time: int) -> bool:
        before, after = found[time - 1], found[time]
        # Where the boundary rises, layers have learnt since that count below it from then on.
        return before is not None and after is not None and after <= before

    if found[now] is None or room == 0:
        return []
    first = now
    while first > 0 and goes_on(first):
        first -= 1
    # From there on, passes of as many layers as there is room for.
    times = [first]
    for time in range(first + 1, len(found)):
        if not goes_on(time):
            break
        if len({found[one] for one in [*times, time]}) > room:
            if now in times:
                break
            times = []
        times.append(time)
    if len(times) == 1:
        return []
    return [layers[number] for number in dict.fromkeys(found[one] for one in times if one >= now)]
