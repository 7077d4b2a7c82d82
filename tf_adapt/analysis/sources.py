"""What an analysis of layers is asked to look at: configs and runs, their data and encoders."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import keras

from tf_adapt import run_folder
from tf_adapt.config import load_config
from tf_adapt.config_sections import Config
from tf_adapt.data.splits import Splits, load_splits
from tf_adapt.encoder import HubEncoder
from tf_adapt.errors import ConfigError
from tf_adapt.tasks import Task
from tf_adapt.trained import load_run


@dataclass(frozen=True)
class Source:
    """A config, or the folder of a run with the run's config."""

    config: Config
    run: Path | None


def read_source(name: str, overrides: tuple[str, ...] = ()) -> Source:
    """Reads a config file, or the config of a run folder.

    Args:
        overrides: as for `load_config`; of a run only the data may be changed.

    Raises:
        ConfigError: the config is wrong; a run's encoder or training is overridden.
        ArtifactError: the folder is no run.
    """
    path = Path(name)
    if not path.is_dir():
        return Source(load_config(path, overrides), None)
    config = run_folder.saved_config(path)
    if config is None:
        raise ConfigError(
            f"{name}: expected a config file or the folder of a run, got an empty folder"
        )
    others = [key for key in overrides if not key.strip().startswith("data.")]
    if others:
        raise ConfigError(
            f"--set {others[0]}: expected a key of the section data, got another one together with "
            f"the run {name}; a run's encoder and training are what they were"
        )
    return Source(load_config(path / run_folder.CONFIG, overrides) if overrides else config, path)


def source_data(source: Source) -> tuple[Splits, Task]:
    """The splits of a source and the task they pose.

    Raises:
        ConfigError: the examples are not texts or pairs with one label each.
        DataError: as `load_splits`.
    """
    splits = load_splits(source.config.data)
    if splits.kind in ("tagging", "language_model"):
        raise ConfigError(
            f"{source.run or splits.name}: expected a task with one label for each text or pair "
            f"(classification, pair_classification, pair_regression), got {splits.kind}, of which "
            "a text's mean state says nothing"
        )
    return splits, Task.of(splits)


def encoders(source: Source) -> Iterator[tuple[dict, HubEncoder]]:
    """The pretrained encoder of a source, then that of the run, each with what it is.

    Raises:
        ArtifactError, ConfigError: as `HubEncoder` and `load_run`.
    """
    settings = source.config.encoder
    keras.utils.set_random_seed(source.config.training.seed)  # of an encoder without pretraining
    pretrained = HubEncoder(trainable=False, **settings.model_dump())
    about = {
        "module": Path(settings.handle).name,
        "module_hash": pretrained.module_hash,
        "encoder": settings.model_dump(exclude={"handle", "preprocessor", "trust"}),
    }
    yield about | {"run": None, "adaptation": None, "seed": None}, pretrained
    if source.run is not None:
        config = source.config
        tuned = {"run": str(source.run), "adaptation": config.adaptation.name}
        yield about | tuned | {"seed": config.training.seed}, load_run(source.run).encoder
