"""The run that a cell of a comparison starts from: only for cells with its encoder.

Imports no TensorFlow.
"""

from tf_adapt.config.reading import start_config
from tf_adapt.config.sections import Config
from tf_adapt.errors import ConfigError
from tf_adapt.runs.finished_run import finished_run, module_in_words, module_of
from tf_adapt.training.resolving.run_config import saved_config


def check_start(name: str, config: Config, location: str) -> Config | None:
    """Checks that a cell that starts from a run has the encoder of that run.

    Args:
        name: of the cell.
        config: of the cell, with a `start`.
        location: file and line of the key.

    Returns:
        The config of the run that is trained first; None: it is a finished one.

    Raises:
        ConfigError: the cell has another module; as `finished_run` and `start_config`.
        ArtifactError: the run or a module is missing or damaged.
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
