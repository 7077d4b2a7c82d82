"""The sources of an analysis of layers: configs and runs, with their data and encoders."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import keras

from hub_modules.engines.names import TENSORFLOW
from hub_modules.storage.fetching import fetching
from tf_adapt.analysis.kinds import KINDS
from tf_adapt.config.reading import load_config, one_task
from tf_adapt.config.sections import Config
from tf_adapt.data.packing.prepare import task_of
from tf_adapt.data.splits.read_splits import Splits, load_splits
from tf_adapt.encoder.hub_encoder import HubEncoder
from tf_adapt.errors import ConfigError
from tf_adapt.printing.words import alternatives
from tf_adapt.runs import run_folder
from tf_adapt.tasks.task import Task
from tf_adapt.training.finished.load_run import load_run
from tf_adapt.training.resolving import run_config
from tf_adapt.training.resolving.compiled_model import configured_encoder


@dataclass(frozen=True)
class Source:
    """A config, or a run folder with the run's config."""

    config: Config
    run: Path | None


def read_source(name: str, overrides: tuple[str, ...] = ()) -> Source:
    """Reads a config file, or the config of a run folder.

    Args:
        overrides: as for `load_config`; for a run only keys of `data`.

    Raises:
        ConfigError: the config is wrong; a key of a run other than `data` is overridden.
        ArtifactError: the folder is not a run.
    """
    path = Path(name)
    if not path.is_dir():
        return Source(one_task(load_config(path, overrides), name, "an analysis"), None)
    config = run_config.saved_config(path)
    if config is None:
        raise ConfigError(
            f"{name}: expected a config file or the folder of a run, got an empty folder"
        )
    config = one_task(config, name, "an analysis")
    checked_data_keys(name, overrides)
    return Source(load_config(path / run_folder.CONFIG, overrides) if overrides else config, path)


def checked_data_keys(folder: str, overrides: tuple[str, ...]) -> tuple[str, ...]:
    """The overrides of a finished folder, of which encoder and training are what they were.

    Raises:
        ConfigError: a key of another section than data.
    """
    others = [key for key in overrides if not key.strip().startswith("data.")]
    if others:
        raise ConfigError(
            f"--set {others[0]}: expected a key of the section data, got another one together with "
            f"the folder {folder}, whose encoders and training are what they were"
        )
    return overrides


def source_data(source: Source, analysis: str) -> tuple[Splits, Task]:
    """The splits of a source, and their task.

    Args:
        analysis: "probes", "information" or "estimate".

    Raises:
        ConfigError: there is no such analysis of the kind of task.
        DataError: as `load_splits`.
    """
    splits = load_splits(source.config.data, source.config.weak)
    if analysis not in KINDS[splits.kind].analyses:
        fitting = [kind for kind, row in KINDS.items() if analysis in row.analyses]
        raise ConfigError(
            f"{source.run or splits.name}: expected data of the kind {alternatives(fitting)}, got "
            f"{splits.kind}; give a config of one of these"
        )
    return splits, task_of(splits)


def encoders(source: Source) -> Iterator[tuple[dict, HubEncoder]]:
    """The pretrained encoder of a source, then the run's tuned one, each with its description.

    A description has `module`, `handle`, `family`, `module_hash`, `encoder`, `run`, `adaptation`
    and `seed`, and `engine` where `features.engine` is not TensorFlow.

    Raises:
        ArtifactError, ConfigError: as `HubEncoder` and `load_run`.
    """
    settings = source.config.encoder
    keras.utils.set_random_seed(source.config.training.seed)  # for encoders with random weights
    # What a run's config names does not come from the user: see `load_run`.
    is_own = source.run is None
    trust = settings.trust and is_own
    with fetching(allowed=is_own):
        section = settings.model_copy(update={"trust": trust})
        pretrained = configured_encoder(section, trainable=False)
    about = {
        "module": Path(settings.handle).name,
        "handle": settings.handle,
        "family": pretrained.family,
        "module_hash": pretrained.module_hash,
        "encoder": settings.model_dump(exclude={"handle", "preprocessor", "trust"}),
    }
    engine = source.config.features.engine
    if engine != TENSORFLOW:
        about["engine"] = engine
    pretrained.engine = engine
    yield about | {"run": None, "adaptation": None, "seed": None}, pretrained
    if source.run is not None:
        config = source.config
        tuned = {"run": str(source.run), "adaptation": config.adaptation.name}
        encoder = load_run(source.run).encoder
        encoder.engine = engine
        yield about | tuned | {"seed": config.training.seed}, encoder
