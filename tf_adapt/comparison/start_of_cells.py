"""The run that all cells of a comparison start from: only for cells with its encoder.

Imports no TensorFlow.
"""

from collections.abc import Mapping

from hub_modules.find import find_module
from hub_modules.kept_layers import kept_hash
from hub_modules.manifest import module_hash
from tf_adapt.config.sections import Config
from tf_adapt.errors import ConfigError
from tf_adapt.runs.finished_run import finished_run, module_in_words

KEY = "start.run"


def check_start(configs: Mapping[str, Config], location: str) -> None:
    """Checks that each cell that starts from a run has the encoder of that run.

    Args:
        configs: those of the cells, by name.
        location: file and line of the key.

    Raises:
        ConfigError: a cell has another module; as `finished_run`.
        ArtifactError: the run or a module is missing or damaged.
    """
    start = next(iter(configs.values())).start
    if start is None:
        return
    run = finished_run(f"{location}: {KEY}", start.run)
    hashes: dict[str, str] = {}
    for name, config in configs.items():
        encoder = config.encoder
        if encoder.handle not in hashes:
            hashes[encoder.handle] = module_hash(find_module(encoder.handle))
        if kept_hash(hashes[encoder.handle], encoder.keep_layers) != run.module:
            expected, got = module_in_words(encoder), module_in_words(run.config.encoder)
            raise ConfigError(
                f"{location}: {KEY}: expected a run on the encoder of every cell, got {start.run} "
                f"on {got}, while cell {name} has {expected}; compare encoders without start, or "
                "leave the other ones out"
            )
