"""The run that is trained before the one that starts from it (`start.config`)."""

from pathlib import Path

from tf_adapt.config.reading import start_config
from tf_adapt.config.sections import Config
from tf_adapt.errors import ConfigError
from tf_adapt.runs import run_folder
from tf_adapt.runs.finished_run import module_in_words, module_of
from tf_adapt.training.resolving import run_config
from tf_adapt.training.resolving.configured_splits import splits_of
from tf_adapt.training.resolving.whole_config import whole_config


def first_config(config: Config, folder: Path) -> Config | None:
    """The config of the run that another starts from; None if it is finished, for then its config
    may be gone. Requires the lock of `folder`, the other's.

    Raises:
        ConfigError: that run was begun with another config, cannot be trained in one process with
            this one, or has another module; as `start_config`.
        DataError: the data of `config` are wrong, which is said before hours of training.
    """
    path, place = config.start.config, folder / run_folder.START
    before = run_config.saved_config(place)
    finished = before is not None and run_folder.finished_metrics(place) is not None
    if finished and not Path(path).exists():
        return None
    first = whole_config(start_config(path))
    changed = {} if before is None else run_config.changed_keys(before, first)
    if changed:
        raise ConfigError(
            f"start.config: {path} is another config than when {place} was begun: "
            f"{', '.join(changed.values())}; bring it back, or choose another --out"
        )
    if finished:
        return None
    _check_one_process(config, first)
    if module_of(first.encoder) != module_of(config.encoder):
        raise ConfigError(
            f"start.config: expected a run on {module_in_words(config.encoder)}, as "
            f"encoder.handle says, got {path} on {module_in_words(first.encoder)}; set "
            "encoder.handle and encoder.keep_layers to those of that config"
        )
    splits_of(config)
    return first


def _check_one_process(config: Config, first: Config) -> None:
    """Checks that what a process decides once is the same for both runs."""
    for key in ("devices", "strategy", "jit_compile"):
        expected, got = getattr(config.training, key), getattr(first.training, key)
        if expected != got:
            raise ConfigError(
                f"start.config: training.{key}: expected {expected} as in the run that starts from "
                f"it, for both are trained in one process, got {got} in {config.start.config}; "
                "train it by itself, and name its folder in start.run"
            )
