"""The run that a cell of a comparison starts from: only for cells with its encoder.

Imports no TensorFlow.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from hub_modules.storage.strict_yaml import KeyPath
from tf_adapt.comparison.plan.cells import Cell, short_name
from tf_adapt.comparison.plan.signals import KEY
from tf_adapt.config.messages import location_of
from tf_adapt.config.reading import start_config
from tf_adapt.config.sections import Config
from tf_adapt.errors import ConfigError
from tf_adapt.runs.finished_run import finished_run, module_in_words, module_of
from tf_adapt.training.resolving.run_config import saved_config


def starts_of(cells: Sequence[Cell], where: str, locations: dict[KeyPath, str]) -> dict[str, Cell]:
    """The runs that are trained before cells, by the path of their config, after checks of every
    start.

    Raises:
        ConfigError: two would have one name; as `_check_start`.
        ArtifactError: as `_check_start`.
    """
    starts: dict[str, Cell] = {}
    checked = set()  # each once: hashing a module without a manifest reads all of it
    for cell, number, own in _starting(cells):
        start, encoder = own.start, own.encoder
        which = (start, encoder.handle, str(encoder.keep_layers))
        if which in checked:
            continue
        checked.add(which)
        key = tuple(start.key.split("."))
        of_member = () if number is None else ("members", number)
        path = key if cell.signal is None else (*KEY, cell.signal, *of_member, *key)
        name = cell.name if number is None else f"{cell.name} (member {number})"
        config = _check_start(name, own, location_of(path, where, locations))
        if config is not None and start.config not in starts:
            name = f"start_{short_name(Path(start.config).stem)}"
            starts[start.config] = Cell(name, config, (config.training.learning_rate,))
    names = [cell.name for cell in (*cells, *starts.values())]
    for path, cell_before in starts.items():
        if names.count(cell_before.name) > 1:
            raise ConfigError(
                f"{where}: start.config: two runs would be called {cell_before.name}, one of them "
                f"that of {path}; give the files different names"
            )
    return starts


def _starting(cells: Sequence[Cell]) -> Iterator[tuple[Cell, int | None, Config]]:
    """Each config with a `start`, with its cell and, of a member of an ensemble, the number."""
    for cell in cells:
        for number, config in ((None, cell.config), *enumerate(cell.member_configs)):
            if config.start is not None:
                yield cell, number, config


def _check_start(name: str, config: Config, location: str) -> Config | None:
    """Checks that a cell that starts from a run has the encoder of that run.

    Args:
        name: of the cell.
        config: of the cell, with a `start`.
        location: file and line of the key.

    Returns:
        The config of the run that is trained first; None: it is a finished one.
    """
    start, first = config.start, None
    where = f"{location}: {start.key}"
    if start.config is None:
        run = finished_run(where, start.run)
        module, before = run.module, saved_config(run.folder)
    else:
        first = before = start_config(start.config, where)
        module = module_of(before.encoder)
    if module_of(config.encoder) != module:
        expected, got = module_in_words(config.encoder), module_in_words(before.encoder)
        raise ConfigError(
            f"{where}: expected a run on the encoder of every cell, got {start.place} "
            f"on {got}, while cell {name} has {expected}; leave the other encoders "
            "out, or make the start a signal that names its own (compare.signals.NAME.encoders)"
        )
    return first
