"""What a comparison adds to its cells by itself, once. Imports no TensorFlow.

`tf_adapt.comparison.extending` decides it.
"""

from collections.abc import Mapping
from dataclasses import replace

from tf_adapt.comparison.plan.cells import EPOCHS, HIGHER, LOWER, Cell, Comparison, Extension
from tf_adapt.config.fields import MOST_EPOCHS

TIMES_EPOCHS = 2
_ADDED = {
    EPOCHS: "twice the epochs",
    LOWER: "a lower learning rate",
    HIGHER: "a higher learning rate",
}


def extended(comparison: Comparison, extensions: Mapping[str, Extension] | None) -> Comparison:
    """The comparison with what was added by adaptation, to all cells of it alike."""
    if not comparison.extend or not extensions:
        return comparison
    cells = (
        _extended(cell, extensions[name])
        if (name := cell.config.adaptation.name) in extensions
        else cell
        for cell in comparison.cells
    )
    return replace(comparison, cells=tuple(cells), extensions=extensions)


def in_words(comparison: Comparison, names: Mapping[str, str]) -> list[str]:
    """A sentence on what was added to the cells of each adaptation, and why.

    Args:
        names: of cells, by id.
    """
    by = "the trials, which are not scored"
    if comparison.trials == 1 or comparison.folds:
        by = "the curves of the folds" if comparison.folds else "the seeds' curves"
    sentences = []
    for adaptation, extension in comparison.extensions.items():
        added = " and ".join(_ADDED[what] for what in extension.added)
        why = "; ".join(f"{names.get(cell, cell)}: {why}" for cell, why in extension.why.items())
        sentences.append(
            f"All cells of {adaptation} were given {added}, once, decided on dev by {by} ({why})."
        )
    return sentences


def next_rate(rates: tuple[float, ...], end: str) -> float:
    """The rate beyond an end of a list, by the ratio of the two that are there; two digits.

    Args:
        rates: at least two.
        end: `LOWER` or `HIGHER`.
    """
    ascending = sorted(rates)
    neighbour, outermost = {LOWER: ascending[1::-1], HIGHER: ascending[-2:]}[end]
    return float(f"{outermost * outermost / neighbour:.1e}")


def _extended(cell: Cell, extension: Extension) -> Cell:
    rates = tuple(next_rate(cell.rates, end) for end in extension.rates)
    cell = replace(cell, rates=(*cell.rates, *rates))
    if not extension.epochs:
        return cell
    # What is lengthened is the time after a first stage, which is that of all groups.
    training, first = cell.config.training, cell.config.adaptation.head_epochs or 0
    first = min(first, training.epochs - 1)
    epochs = min(MOST_EPOCHS, first + TIMES_EPOCHS * (training.epochs - first))
    training = training.model_copy(update={"epochs": epochs})
    config = cell.config.model_copy(update={"training": training})
    return replace(cell, config=config, more_epochs=epochs)
