"""Loads the model of a trained run with the weights of its best epoch."""

import os
from pathlib import Path
from typing import Any

from hub_modules.huggingface_handles import is_preset
from hub_modules.keras_hub.handles import PREFIX
from hub_modules.storage.fetching import fetching
from tf_adapt.config.sections import Config, EncoderConfig
from tf_adapt.errors import ArtifactError, ConfigError
from tf_adapt.heads.size import at_most_weights
from tf_adapt.models.adapted_model import AdaptedModel
from tf_adapt.runs import checkpoints, run_folder, run_schemas
from tf_adapt.runs.export_files import saved_task
from tf_adapt.runs.exports_in import no_run
from tf_adapt.tasks.task import Task
from tf_adapt.training.resolving import run_config
from tf_adapt.training.resolving.compiled_model import configured_model
from tf_adapt.training.resolving.reading import Reading, reading_of


def load_run(
    folder: str | os.PathLike, trust: bool = False, task: str | None = None
) -> AdaptedModel:
    """The model of a run, with the weights of its best epoch, in float32.

    Args:
        task: which task of a run of several; by default the target.
        trust: as in `HubEncoder`. The value in the run's own config is ignored: a run must not
            vouch for its own module, nor have it fetched. A module that you trusted in training
            is on record, and one that was fetched is in the cache.

    Raises:
        ArtifactError: the folder is not a run, the run has no finished epoch, its files are
            damaged, or its module is a program that is not trusted, or not on this machine.
        ConfigError: `task` is not one of the run's tasks.
    """
    return loaded_run(Path(folder), trust, task)[0]


def loaded_run(folder: Path, trust: bool, task: str | None = None) -> tuple[AdaptedModel, Reading]:
    """The model of `load_run`, and how the run reads examples; of several tasks this task's."""
    _check_is_run(folder)
    known = run_config.saved_config(folder).tasks
    if task is not None and task not in (known or ()):
        expected = f"one of its tasks {', '.join(known)}" if known else "no task, for it has one"
        raise ConfigError(f"{folder}: expected {expected}, got {task!r}")
    loaded = loaded_tasks(folder, trust)
    if known is None:
        return loaded[None]
    return loaded[task or run_config.saved_config(folder).target]


def loaded_tasks(folder: Path, trust: bool) -> dict[str | None, tuple[AdaptedModel, Reading]]:
    """The model of each task of a run, which share their encoder, and how it reads examples.

    A run of one task has one, with the name None.

    Raises:
        ArtifactError: as `load_run`.
    """
    _check_is_run(folder)
    config = _with_trust(run_config.saved_config(folder), trust)
    description = run_folder.saved_task(folder)
    best = _best(folder)
    tasks = _saved_tasks(description, config, folder / run_folder.TASK)
    stored = sum(array.size for array in best.arrays.get("model", {}).values())
    with fetching(allowed=trust), at_most_weights(stored):
        model = _configured(config, tasks)
    if model.encoder.module_hash != description.module:
        raise ArtifactError(
            f"{folder}: the run was trained on another module than the one that is now at "
            f"{config.encoder.handle} (expected hash {description.module[:12]}…, got "
            f"{model.encoder.module_hash[:12]}…); bring the module back"
        )
    try:
        _assign_best(model, best)
    except ArtifactError:
        if not is_preset(config.encoder.handle):
            raise
        # 0.3.0 read the preset of a BERT, by its folder, in keras-hub's layers.
        with fetching(allowed=trust), at_most_weights(stored):
            in_layers = _with(config, handle=f"{PREFIX}{config.encoder.handle}")
            model = _configured(in_layers, tasks)
        _assign_best(model, best)
    if config.tasks is None:
        return {None: (model, reading_of(config))}
    return {
        name: (adapted, reading_of(config.of_task(name))) for name, adapted in model.models.items()
    }


def _saved_tasks(
    description: run_schemas.TaskFile, config: Config, where: Path
) -> Task | dict[str, Task]:
    """The task of a run, or its tasks by name."""
    expected = list(config.tasks or ())
    if list(description.tasks) != expected or (description.task is None) != bool(expected):
        raise ArtifactError(
            f"{where}: expected {'the tasks ' + ', '.join(expected) if expected else 'one task'}, "
            f"as {run_folder.CONFIG} has, got {', '.join(description.tasks) or 'one'}; the file "
            "was changed: make the run again"
        )
    if description.task is not None:
        return saved_task(description.task, where)
    return {name: saved_task(task, where) for name, task in description.tasks.items()}


def _check_is_run(folder: Path) -> None:
    if not (folder / run_folder.CONFIG).is_file():
        raise no_run(folder)


def model_of(
    folder: Path, config: Config, task: Task, metrics: dict[str, Any], place: EncoderConfig
) -> AdaptedModel:
    """The model of a finished run with its best weights, its module read from another place.

    Args:
        metrics: its `metrics.json`.
        place: whose handle, preprocessor and trust are used instead of the run's own.

    Raises:
        ArtifactError: the weights are damaged, or do not fit.
    """
    where = {name: getattr(place, name) for name in ("handle", "preprocessor", "trust")}
    encoder = config.encoder.model_copy(update=where)
    model = _configured(config.model_copy(update={"encoder": encoder}), task)
    _assign_best(model, checkpoints.read(run_folder.best_folder(folder, metrics)))
    return model


def _configured(config: Config, task: Task | dict[str, Task]) -> AdaptedModel:
    """As `configured_model`, without what the encoder's folder says: a run has it in its config,
    but those of earlier versions, which read none of it."""
    prompts = {"prompts": config.encoder.prompts or []}
    encoder = config.encoder.model_copy(update=prompts)
    model = configured_model(config.model_copy(update={"encoder": encoder}), task)
    if config.training.max_length is None:
        model.encoder.read_all_positions()
    return model


def _assign_best(model: AdaptedModel, best: checkpoints.Checkpoint) -> None:
    checkpoints.assign(model.weights, best.arrays.get("model", {}), str(best.path))
    model.encoder.as_stored = False


def _with_trust(config: Config, trust: bool) -> Config:
    """A run's config with `encoder.trust` from the user who loads it, not from its author."""
    return _with(config, trust=trust)


def _with(config: Config, **values: Any) -> Config:
    """A config with other values of `encoder`."""
    return config.model_copy(update={"encoder": config.encoder.model_copy(update=values)})


def _best(folder: Path) -> checkpoints.Checkpoint:
    """The weights whose scores are in `metrics.json`; for an unfinished run, the best so far."""
    metrics = run_folder.finished_metrics(folder)
    if metrics is None:
        return checkpoints.load_best(folder / "checkpoint")
    return checkpoints.read(run_folder.best_folder(folder, metrics))
