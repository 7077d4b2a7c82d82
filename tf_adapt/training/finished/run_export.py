"""A run, an ensemble or several runs on one encoder as an export."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tf_adapt.errors import ConfigError
from tf_adapt.models.adapted_model import AdaptedModel
from tf_adapt.models.kinds import refuse_language_model
from tf_adapt.runs.ensemble_folder import is_ensemble
from tf_adapt.runs.ensemble_folder import read as read_ensemble
from tf_adapt.runs.export_files import DEFAULT
from tf_adapt.serving.exports.export import next_version
from tf_adapt.serving.exports.model_card import (
    ensemble_card,
    shared_card,
    with_calibration,
    with_precision,
)
from tf_adapt.serving.exports.shared_export import ServedTask, check_shared
from tf_adapt.serving.light_exports.export import INT8
from tf_adapt.training.ensembles.load_ensemble import loaded_ensemble
from tf_adapt.training.finished.calibrated import calibrate
from tf_adapt.training.finished.export_formats import FORMATS, Format
from tf_adapt.training.finished.load_run import loaded_tasks
from tf_adapt.training.finished.run_cards import run_card
from tf_adapt.training.resolving import compiled_model
from tf_adapt.training.resolving.reading import Reading


def export_run(
    run: str | os.PathLike,
    folder: str | os.PathLike,
    trust: bool = False,
    precision: str | None = None,
    calibrated: bool = False,
    file_format: str = "savedmodel",
) -> Path:
    """Exports a run or an ensemble to the next numbered folder under `folder`; returns that folder.

    A run of several tasks becomes one export with a signature for each.

    Args:
        precision: "bfloat16" or "float16", in which the model of a run of one task computes, or
            "int8", in which the weights of a light export are; None: float32.
        calibrated: divides the logits of a classifier by the temperature that is best on dev.
        file_format: a key of `FORMATS`.

    Raises:
        ArtifactError: as `load_run`, `load_ensemble` and `export`.
        ConfigError: the run is a language model, or half precision or calibration is not for it;
            as `export_light`.
    """
    write = _format(file_format, precision)
    if is_ensemble(Path(run)):
        if precision is not None:
            raise ConfigError(
                f"{run}: expected a run for an export in {precision}, got an ensemble; leave "
                "--precision out"
            )
        if calibrated:
            raise ConfigError(f"{run}: expected a run to calibrate, got an ensemble; leave it out")
        ensemble, reading = loaded_ensemble(Path(run), trust)
        card = ensemble_card(read_ensemble(Path(run)))
        return write.ensemble(ensemble, next_version(folder), _how_to_read(reading), card)
    # The weights of a model in float32 are rounded to 8 bits.
    with compiled_model.precision(None if precision == INT8 else precision):
        loaded = loaded_tasks(Path(run), trust)
    said = calibrate(*_only(run, loaded)) if calibrated else None
    served = {name or DEFAULT: _served_task(*of_task) for name, of_task in loaded.items()}
    card = _tasks_card(served)
    if None in loaded:
        half = None if precision == INT8 else precision
        card = with_precision(run_card(Path(run)), half)
        card = card if said is None else with_calibration(card, said)
    return write.tasks(served, next_version(folder), card, precision)


def _format(name: str, precision: str | None) -> Format:
    write = FORMATS[name]
    if precision not in (None, *write.precisions):
        raise ConfigError(
            f"precision: expected {' or '.join(write.precisions)}, or none, for the format "
            f"{name}, got {precision}; choose one of them, or another --format"
        )
    return write


def _tasks_card(tasks: dict[str, ServedTask]) -> str:
    return shared_card({name: task.model.task.kind for name, task in tasks.items()})


def _only(run: str | os.PathLike, loaded: dict) -> tuple[AdaptedModel, Reading]:
    """The model of a run of one task."""
    if None not in loaded:
        raise ConfigError(f"{run}: expected a run of one task to calibrate, got several")
    return loaded[None]


def export_runs(
    runs: Sequence[str | os.PathLike],
    folder: str | os.PathLike,
    trust: bool = False,
    file_format: str = "savedmodel",
    precision: str | None = None,
) -> Path:
    """Exports runs on one encoder to the next numbered folder under `folder`; returns it.

    Args:
        runs: each a run folder, whose name is its signature's, or NAME=FOLDER.
        file_format: a key of `FORMATS`.
        precision: "int8", in which the weights of a light export are; None: float32.

    Raises:
        ArtifactError: as `load_run` and `export`.
        ConfigError: two runs have one name, or a run several tasks; or as
            `export_shared`, `export_light`.
    """
    write = _format(file_format, precision)
    if precision not in (None, INT8):
        raise ConfigError(
            f"precision: expected {INT8}, or none, for several runs, got {precision}; export them "
            "one by one"
        )
    tasks = {}
    for given in map(os.fspath, runs):
        name, _, path = given.rpartition("=") if not Path(given).is_dir() else ("", "", given)
        name = name or Path(path).resolve().name
        if name in tasks:
            raise ConfigError(
                f"{given}: expected another name than {name!r}, which names a signature already; "
                f"give one, as NAME={path}"
            )
        served = _served_tasks(path, trust)
        if None not in served:
            raise ConfigError(
                f"{given}: expected a run of one task, got one of {', '.join(served)}, which is "
                "exported alone, without --shared-encoder"
            )
        tasks[name] = served[None]
    check_shared(tasks)
    return write.tasks(tasks, next_version(folder), _tasks_card(tasks), precision)


def _served_tasks(run: str | os.PathLike, trust: bool) -> dict[str | None, ServedTask]:
    """What an export needs of each task of a run; of a run of one task by the name None."""
    return {name: _served_task(*loaded) for name, loaded in loaded_tasks(Path(run), trust).items()}


def _served_task(model: AdaptedModel, reading: Reading) -> ServedTask:
    """What an export needs of a run: how files are read, not where they were."""
    refuse_language_model(model.task)
    max_length, truncate, document_context = reading.limits
    return ServedTask(model, max_length, truncate, _how_to_read(reading), document_context)


def _how_to_read(reading: Reading) -> dict[str, Any]:
    """The `data` section without the places of files."""
    places = {"data_dir": None, "train": "", "dev": "", "test": None, "shifted": None}
    data = reading.data.model_dump(mode="json")
    return {key: places.get(key, value) for key, value in data.items()}
