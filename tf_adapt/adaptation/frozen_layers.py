"""Which frozen layers' hidden states to cache, and in which epochs."""

import bisect
from collections.abc import Collection, Sequence

from tf_adapt.adaptation.phases import ACROSS, Adaptation, Phase, Position

# A lookup is as fast as reading cached states.
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
    """The highest frozen layer of an epoch, then the highest frozen layers of later epochs.

    One pass over the texts computes the states of all of them: each stays frozen, with all layers
    below, until its last use. Empty if the lowest layer is trainable, or if only one epoch would
    use the pass, which then saves nothing. The result does not depend on where a run was resumed.

    Args:
        groups: names of the groups, as for `Adaptation.phases`.
        layers: names of the groups whose hidden states the encoder returns, bottom to top; there
            may be others between them.
        epochs: number of epochs of the whole run.
        epoch: from 0.
        phase: index of the current phase; used if patience may end phases early.
        room: the largest number of layers to cache at a time.
    """
    phases = adaptation.phases(groups)
    if adaptation.patience is None:
        length = 1 if adaptation.unit == "epochs" else steps_per_epoch
        kept = _first_two_of_each(phases, epochs, length)
        learning = [_learning(phases, number, length) for number in kept]
        return _served(groups, layers, learning, bisect.bisect(kept, epoch) - 1, room)
    # The lengths of the phases are unknown: each is taken to last more than one epoch.
    learning = [planned.groups for planned in phases for _ in range(2)]
    return _served(groups, layers, learning, 2 * phase, room)


def boundary(groups: Sequence[str], layers: Sequence[str], learning: Collection[str]) -> int | None:
    """Index of the highest layer that is frozen with all groups below; None: nothing to cache.

    Adapters, LoRA and biases are in all layers, new embeddings below them.
    """
    if any(name in learning for name in ACROSS):
        return None
    learned = (groups.index(name) for name in learning if name in groups)
    lowest = min(learned, default=len(groups))
    frozen = sum(groups.index(name) < lowest for name in layers)
    return None if frozen == 0 or layers[frozen - 1] in LOOKED_UP else frozen - 1


def _first_two_of_each(phases: list[Phase], epochs: int, length: int) -> list[int]:
    """The epochs of a run without the third and later ones of each phase.

    Those change nothing in the result, and there may be very many.
    """
    kept, epoch = [], 0
    while epoch < epochs:
        kept.append(epoch)
        before = Position().at(phases, epoch * length)
        end = phases[before.phase].length
        alike = epochs if end is None else min(epochs, (before.since + end) // length)
        if epoch + 1 < alike:  # the epochs before `alike` are whole epochs of one phase
            kept.append(epoch + 1)
        epoch = max(epoch + 1, alike)
    return kept


def _learning(phases: list[Phase], epoch: int, length: int) -> set[str]:
    """The groups that are trainable at any time in an epoch; `length`: epochs (1) or steps."""
    first, last = (
        Position().at(phases, time).phase for time in (epoch * length, (epoch + 1) * length - 1)
    )
    return {name for phase in phases[first : last + 1] for name in phase.groups}


def _served(
    groups: Sequence[str],
    layers: Sequence[str],
    learning: Sequence[Collection[str]],
    now: int,
    room: int,
) -> list[str]:
    """The distinct boundary layers, from `now` on, that one pass over the texts covers."""
    boundaries = [boundary(groups, layers, names) for names in learning]

    def goes_on(time: int) -> bool:
        before, after = boundaries[time - 1], boundaries[time]
        # If the boundary rises, layers below it have been trained since the pass.
        return before is not None and after is not None and after <= before

    if boundaries[now] is None or room == 0:
        return []
    first = now
    while first > 0 and goes_on(first):
        first -= 1
    # From `first` on, each pass takes as many layers as there is room for.
    times = [first]
    for time in range(first + 1, len(boundaries)):
        if not goes_on(time):
            break
        if len({boundaries[moment] for moment in [*times, time]}) > room:
            if now in times:
                break
            times = []
        times.append(time)
    if len(times) == 1:
        return []
    return [
        layers[number]
        for number in dict.fromkeys(boundaries[moment] for moment in times if moment >= now)
    ]
