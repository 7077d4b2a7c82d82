"""Cells of signals that depend on others: teachers, equal cells, parts of train. Imports no
TensorFlow.
"""

import itertools
from collections.abc import Sequence
from dataclasses import replace

from tf_adapt.comparison.plan.cells import Cell, Comparison
from tf_adapt.comparison.plan.sections import Compare
from tf_adapt.data.splits.subsampling import part_of, units_of
from tf_adapt.errors import ConfigError


def with_teachers(cells: list[Cell]) -> list[Cell]:
    """The cells of one encoder, adaptation and head, each with the one that teaches it."""
    by_signal, taught = {cell.signal: cell for cell in cells}, []
    for cell in cells:
        teacher = cell.laid and cell.laid.teacher and cell.laid.teacher.signal
        if teacher:
            config = cell.config.teacher.model_copy(update={"run": teacher})
            config = cell.config.model_copy(update={"teacher": config})
            cell = replace(cell, config=config, teacher=by_signal[teacher].name)
        taught.append(cell)
    return taught


def check_signals_apart(cells: tuple[Cell, ...], varied: Compare, where: str) -> None:
    """Checks that no signal makes one cell of the cells of several encoders."""
    entries = [entry.model_dump(exclude={"learning_rates"}) for entry in varied.encoders]
    if any(entries.count(entry) > 1 for entry in entries):
        return  # `check_cells` says so
    for number, cell in enumerate(cells):
        changed = cell.laid.encoder.model_fields_set if cell.laid else ()
        if changed and (cell.name, cell.config) in [(o.name, o.config) for o in cells[:number]]:
            raise ConfigError(
                f"{where}: compare.signals.{cell.signal}.encoder: expected keys that leave each of "
                f"compare.encoders different, got {', '.join(sorted(changed))}, with which several "
                f"are {cell.name}; limit the signal to one of them (encoders: "
                f"[{varied.encoders[0].handle}])"
            )


def check_parts(comparison: Comparison, train: Sequence) -> None:
    """Checks that train, and each part of it, can be cut into the parts that signals leave out.

    Raises:
        ConfigError: there are fewer examples, or documents, than parts.
    """
    with_parts = [cell for cell in comparison.cells if cell.parts is not None]
    for cell, size, seed in itertools.product(with_parts, comparison.sizes, comparison.seeds):
        part = train if size is None else part_of(train, size, seed)
        count = units_of(part)
        if cell.parts > count:
            raise ConfigError(
                f"compare.signals.{cell.signal}.leave_out_parts: expected at most {count}, "
                f"the examples (or documents) of the part of train with seed {seed}, got "
                f"{cell.parts}"
            )
