"""Checkpoints on disk: arrays and JSON with hashes, written atomically; no TensorFlow.

`checkpoint/checkpoint_NNNNNN` is the training state after a step, the last two are kept;
`checkpoint/best_NNNN` has the model's weights after the best epoch so far, and
`checkpoint/slots_NNNN` the optimizer's slots after it, as long as training in phases may return to
it. In each, `record.json` has the size and SHA-256 of every other file; a folder without it is
ignored.
"""

import json
import logging
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import ConfigDict, Field

from hub_modules.storage.arrays import packed, read_arrays
from hub_modules.storage.files import changed_part, describe, publish_folder
from hub_modules.storage.json_files import Schema, parse_json, read_bytes
from hub_modules.storage.records import FORMAT, RECORD, Description, read_record
from tf_adapt.errors import ArtifactError, TrainingError

KEPT = 2
STATE = "state.json"
# The names of checkpoint folders, as patterns.
NAMES = ("checkpoint_*", "best_*", "slots_*")

Arrays = dict[str, np.ndarray]
log = logging.getLogger(__name__)


class _Record(Schema):
    """Content of a checkpoint's `record.json`."""

    format: int
    files: dict[str, Description]


class Best(Schema):
    """The best epoch so far (from 0), its dev score, and the folders of its weights and slots."""

    epoch: int = Field(ge=0)
    score: float | None
    name: str = Field(pattern="^best_[0-9]{4,}$")
    slots: str | None = Field(None, pattern="^slots_[0-9]{4,}$")


class _State(Schema):
    """The part of a checkpoint's `state.json` that is used here; training defines the rest."""

    model_config = ConfigDict(extra="allow")
    best: Best | None = None


@dataclass(frozen=True)
class Checkpoint:
    """Content of a checkpoint: groups of arrays (`model`, `optimizer`, `metrics`), plain values."""

    path: Path
    arrays: dict[str, Arrays]
    state: dict[str, Any]


def save(folder: Path, arrays: dict[str, Arrays], state: dict[str, Any]) -> Path:
    """Writes the next checkpoint of `folder`, then removes folders that no kept one needs.

    Raises:
        ArtifactError: not writable or no space; the previous checkpoint is intact.
        TrainingError: an array is not finite.
    """
    present = _checkpoints(folder)
    number = 1 + (int(present[-1].name.split("_")[1]) if present else 0)
    path = folder / f"checkpoint_{number:06d}"
    _write(path, arrays, state)
    _prune(folder)
    return path


def best_name(epoch: int) -> str:
    """The folder name of the weights after an epoch (from 0)."""
    return f"best_{epoch + 1:04d}"


def slots_name(epoch: int) -> str:
    """The folder name of the optimizer's slots after an epoch (from 0)."""
    return f"slots_{epoch + 1:04d}"


def save_best(folder: Path, name: str, model: Arrays) -> None:
    """Writes the model's weights after a best epoch.

    Raises:
        ArtifactError, TrainingError: as `save`.
    """
    _write_anew(folder / name, {"model": model})


def save_slots(folder: Path, name: str, slots: Arrays) -> None:
    """Writes the optimizer's slots after a best epoch.

    Raises:
        ArtifactError, TrainingError: as `save`.
    """
    _write_anew(folder / name, {"slots": slots})


def load_latest(folder: Path) -> Checkpoint | None:
    """The newest intact checkpoint; None if there are no checkpoints.

    Intact includes the best weights and slots that it refers to. A damaged one is logged and
    removed after an older one has been read.

    Raises:
        ArtifactError: there are checkpoints, but none is intact.
    """
    problems: list[tuple[Path, ArtifactError]] = []
    for path in reversed(_checkpoints(folder)):
        try:
            checkpoint = read(path)
            for name in _best_folders(checkpoint.state):
                check(folder / name)
        except ArtifactError as error:
            problems.append((path, error))
            continue
        for damaged, error in problems:
            log.warning("%s; going on from %s", error, path.name)
            shutil.rmtree(damaged, ignore_errors=True)
        return checkpoint
    if problems:
        raise ArtifactError(
            f"{folder}: no checkpoint is intact ({problems[0][1]}); restore the folder from a "
            "backup, or remove the run folder to start anew"
        )
    return None


def latest_state(folder: Path) -> dict[str, Any] | None:
    """The plain values of the newest checkpoint; None if there are no checkpoints.

    Raises:
        ArtifactError: they are damaged.
    """
    present = _checkpoints(folder)
    return _read_state(present[-1], _read_record(present[-1])) if present else None


def load_best(folder: Path) -> Checkpoint:
    """The model's weights after the best epoch of the newest intact checkpoint.

    If these are damaged, those of the previous checkpoint, with a warning.

    Raises:
        ArtifactError: there is none, or all are damaged.
    """
    problems: list[ArtifactError] = []
    for path in reversed(_checkpoints(folder)):
        try:
            state = _read_state(path, _read_record(path))
            if not state["best"]:
                continue
            checkpoint = read(folder / state["best"]["name"])
        except ArtifactError as error:
            problems.append(error)
            continue
        for problem in problems:
            log.warning("%s; going back to %s of %s", problem, checkpoint.path.name, path.name)
        return checkpoint
    raise (
        problems[0]
        if problems
        else ArtifactError(
            f"{folder}: expected the weights of a best epoch, got none; "
            "train the run until the end of its first epoch"
        )
    )


def check(path: Path) -> dict[str, str]:
    """Checks every file of a checkpoint folder; returns the SHA-256 of each by its name.

    Raises:
        ArtifactError: missing, damaged, or of a newer format.
    """
    files = _read_record(path).files
    for name, entry in files.items():
        _verified(path / name, entry)
    return {name: entry.sha256 for name, entry in files.items()}


def read(path: Path) -> Checkpoint:
    """Reads one checkpoint folder after checking the hash of every file.

    Raises:
        ArtifactError: missing, damaged, or of a newer format.
    """
    record = _read_record(path)
    state = _read_state(path, record)
    arrays = {
        Path(name).stem: _read_arrays(path / name, entry)
        for name, entry in record.files.items()
        if name != STATE
    }
    return Checkpoint(path, arrays, state)


def to_arrays(variables: Iterable) -> Arrays:
    """Values of Keras variables by position, since names depend on the layers built before."""
    return {str(position): variable.numpy() for position, variable in enumerate(variables)}


def assign(variables: Sequence, arrays: Arrays, where: str) -> None:
    """Sets Keras variables from `to_arrays`; nothing is set unless everything fits.

    Raises:
        ArtifactError: an array is missing or unused, has another shape or dtype, or is not finite.
    """
    check_fit(variables, arrays, where)
    for position, variable in enumerate(variables):
        variable.assign(arrays[str(position)])


def check_fit(variables: Sequence, arrays: Arrays, where: str) -> None:
    """Checks that `assign` would set every variable.

    Raises:
        ArtifactError: as `assign`.
    """
    advice = "it belongs to another config, module or version"
    expected = {str(position): variable for position, variable in enumerate(variables)}
    for name in sorted(expected.keys() - arrays.keys(), key=int)[:1]:
        raise ArtifactError(
            f"{where}: {expected[name].path}: expected {len(expected)} arrays, got "
            f"{len(arrays)}, none for this weight (array {name}); {advice}"
        )
    for name in sorted(arrays.keys() - expected.keys())[:1]:
        raise ArtifactError(
            f"{where}: array {name!r}: expected {len(expected)} arrays, got {len(arrays)}, this "
            f"one of shape {arrays[name].shape} for no weight; {advice}"
        )
    for name, variable in expected.items():
        wanted = (tuple(variable.shape), variable.dtype)
        got = (arrays[name].shape, str(arrays[name].dtype))
        if got != wanted:
            raise ArtifactError(
                f"{where}: {variable.path}: expected shape and type {wanted}, got {got}; {advice}"
            )
        if _has_non_finite(arrays[name]):
            raise ArtifactError(
                f"{where}: {variable.path}: expected finite numbers, got others; such a file is "
                "not one that a training wrote: make the run again"
            )


def _has_non_finite(value: np.ndarray) -> bool:
    return np.issubdtype(value.dtype, np.floating) and not np.isfinite(value).all()


def _write(path: Path, arrays: dict[str, Arrays], state: dict[str, Any]) -> None:
    for group, values in arrays.items():
        for name, value in values.items():
            if _has_non_finite(value):
                raise TrainingError(
                    f"array {name} of the {group} is not finite; nothing was saved. Lower "
                    "training.learning_rate and run again from the previous checkpoint"
                )
    with publish_folder(path) as aside:
        for group, values in arrays.items():
            (aside / f"{group}.npz").write_bytes(packed(values))
        (aside / STATE).write_text(json.dumps(state, indent=1), encoding="utf-8")
        files = {file.name: describe(file) for file in sorted(aside.iterdir())}
        record = json.dumps({"format": FORMAT, "files": files}, indent=1)
        (aside / RECORD).write_text(record, encoding="utf-8")


def _write_anew(path: Path, arrays: dict[str, Arrays]) -> None:
    shutil.rmtree(path, ignore_errors=True)  # of a run killed before its checkpoint
    _write(path, arrays, {})


def _prune(folder: Path) -> None:
    checkpoints = _checkpoints(folder)
    for path in checkpoints[:-KEPT]:
        shutil.rmtree(path, ignore_errors=True)
    needed: set[str] = set()
    for path in checkpoints[-KEPT:]:
        try:
            needed.update(_best_folders(_read_state(path, _read_record(path))))
        except ArtifactError:
            return  # the best weights that it needs are unknown: remove none
    for path in (*folder.glob("best_*"), *folder.glob("slots_*")):
        if path.name not in needed:
            shutil.rmtree(path, ignore_errors=True)


def _best_folders(state: dict[str, Any]) -> list[str]:
    """The other folders that a checkpoint refers to."""
    best = state["best"] or {}
    return [name for name in (best.get("name"), best.get("slots")) if name]


def _checkpoints(folder: Path) -> list[Path]:
    return sorted(folder.glob("checkpoint_" + "[0-9]" * 6))


def _read_record(path: Path) -> _Record:
    record = read_record(path, _Record)
    if STATE not in record.files or any(Path(name).name != name for name in record.files):
        raise ArtifactError(
            f"{path / RECORD}: expected {STATE} and files in this folder, got "
            f"{sorted(record.files)[:9]}; the checkpoint is damaged or was changed"
        )
    return record


def _verified(path: Path, entry: Description) -> Path:
    try:
        if changed_part(path, entry.model_dump()) is None:
            return path
    except OSError as error:
        raise ArtifactError(f"{path}: cannot be read ({error.strerror})") from None
    raise ArtifactError(f"{path}: size or SHA-256 is not the recorded one: the file is damaged")


def _read_state(path: Path, record: _Record) -> dict[str, Any]:
    content = read_bytes(_verified(path / STATE, record.files[STATE]))
    return parse_json(content, _State, str(path / STATE)).model_dump()


def _read_arrays(path: Path, entry: Description) -> Arrays:
    _verified(path, entry)
    try:
        return read_arrays(path)
    except (OSError, ValueError) as error:
        raise ArtifactError(f"{path}: not arrays of numbers ({error})") from None
