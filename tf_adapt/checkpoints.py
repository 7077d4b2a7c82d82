"""Training state on disk: arrays and JSON with hashes, whole or absent; no TensorFlow.

`checkpoint/checkpoint_NNNNNN` is the state of a run at one moment, the last two are kept;
`checkpoint/best_NNNN` are the model's values after the epoch that was best so far, and
`checkpoint/slots_NNNN` the optimizer's slots then, as long as a training in phases may go back to
it. In each, `record.json` has the size and SHA-256 of every other file: without it the folder does
not exist.
"""

import json
import logging
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tf_adapt.arrays import packed, read_arrays
from tf_adapt.errors import ArtifactError, TrainingError
from tf_adapt.files import describe, difference, publish_folder

FORMAT = 1
KEPT = 2
RECORD, STATE = "record.json", "state.json"

Arrays = dict[str, np.ndarray]
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Checkpoint:
    """What was read: groups of arrays (`model`, `optimizer`, `metrics`) and plain values."""

    path: Path
    arrays: dict[str, Arrays]
    state: dict[str, Any]


def save(folder: Path, arrays: dict[str, Arrays], state: dict[str, Any]) -> Path:
    """Writes the next checkpoint of `folder`, then removes what no kept checkpoint needs.

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
    """The name under which the weights after an epoch (from 0) are kept."""
    return f"best_{epoch + 1:04d}"


def slots_name(epoch: int) -> str:
    """The name under which the optimizer's slots after an epoch (from 0) are kept."""
    return f"slots_{epoch + 1:04d}"


def save_best(folder: Path, name: str, model: Arrays) -> None:
    """Writes the model's arrays after a best epoch.

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
    """The newest checkpoint that is intact; None where there never was one.

    A damaged one is named in a warning and removed once an older one has been read.

    Raises:
        ArtifactError: there are checkpoints, and none is intact.
    """
    problems: list[tuple[Path, ArtifactError]] = []
    for path in reversed(_checkpoints(folder)):
        try:
            found = read(path)
        except ArtifactError as error:
            problems.append((path, error))
            continue
        for damaged, error in problems:
            log.warning("%s; going on from %s", error, path.name)
            shutil.rmtree(damaged, ignore_errors=True)
        return found
    if problems:
        raise ArtifactError(
            f"{folder}: no checkpoint is intact ({problems[0][1]}); restore the folder from a "
            "backup, or remove the run folder to start anew"
        )
    return None


def load_best(folder: Path) -> Checkpoint:
    """The model's arrays after the best epoch of the newest intact checkpoint.

    Raises:
        ArtifactError: there is none, or it is damaged.
    """
    for path in reversed(_checkpoints(folder)):
        try:
            state = _read_state(path, _read_record(path))
        except ArtifactError as error:
            log.warning("%s", error)
            continue
        if state.get("best"):
            return read(folder / state["best"]["name"])
    raise ArtifactError(
        f"{folder}: expected the weights of a best epoch, got none; "
        "train the run until the end of its first epoch"
    )


def read(path: Path) -> Checkpoint:
    """Reads one checkpoint folder after checking the hash of every file.

    Raises:
        ArtifactError: missing, damaged, or of a newer format.
    """
    record = _read_record(path)
    state = _read_state(path, record)
    arrays = {
        Path(name).stem: _read_arrays(path / name, entry)
        for name, entry in record["files"].items()
        if name != STATE
    }
    return Checkpoint(path, arrays, state)


def to_arrays(variables: Iterable) -> Arrays:
    """Values of Keras variables, keyed by their position: names depend on what else was built."""
    return {str(position): variable.numpy() for position, variable in enumerate(variables)}


def assign(variables: Sequence, arrays: Arrays, where: str) -> None:
    """Sets Keras variables from `to_arrays`; nothing is set unless everything fits.

    Raises:
        ArtifactError: a variable is missing or left over, or has another shape or type.
    """
    if len(arrays) != len(variables):
        raise ArtifactError(
            f"{where}: expected {len(variables)} arrays, got {len(arrays)}; "
            "it belongs to another config, module or version"
        )
    for position, variable in enumerate(variables):
        array = arrays[str(position)]
        expected = (tuple(variable.shape), variable.dtype)
        if (array.shape, str(array.dtype)) != expected:
            raise ArtifactError(
                f"{where}: {variable.path}: expected shape and type {expected}, got "
                f"{(array.shape, str(array.dtype))}; it belongs to another config or module"
            )
    for position, variable in enumerate(variables):
        variable.assign(arrays[str(position)])


def remove_leftovers(folder: Path) -> None:
    """Removes what a killed process was writing; call only while holding the run's lock."""
    for path in folder.glob(".*.partial"):
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def _write(path: Path, arrays: dict[str, Arrays], state: dict[str, Any]) -> None:
    for group, values in arrays.items():
        for name, value in values.items():
            if np.issubdtype(value.dtype, np.floating) and not np.isfinite(value).all():
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
    needed = set()
    for path in checkpoints[-KEPT:]:
        try:
            best = _read_state(path, _read_record(path)).get("best")
        except ArtifactError:
            return  # which best weights it needs cannot be told: remove none
        needed |= {best["name"], best.get("slots")} if best else set()
    for path in (*folder.glob("best_*"), *folder.glob("slots_*")):
        if path.name not in needed:
            shutil.rmtree(path, ignore_errors=True)


def _checkpoints(folder: Path) -> list[Path]:
    return sorted(folder.glob("checkpoint_" + "[0-9]" * 6))


def _read_record(path: Path) -> dict[str, Any]:
    try:
        record = json.loads((path / RECORD).read_text(encoding="utf-8"))
        if record["format"] != FORMAT:
            raise ArtifactError(
                f"{path}: expected format {FORMAT}, got {record['format']!r}; "
                "use the version of tf_adapt that wrote it"
            )
        for name, entry in record["files"].items():
            if Path(name).name != name or not isinstance(entry["bytes"], int):
                raise ValueError(f"entry {name!r}")
        record["files"][STATE]["sha256"]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ArtifactError(f"{path}: {RECORD} is missing or damaged ({error})") from None
    return record


def _verified(path: Path, entry: dict[str, Any]) -> Path:
    try:
        if difference(path, entry) is None:
            return path
    except OSError as error:
        raise ArtifactError(f"{path}: cannot be read ({error.strerror})") from None
    raise ArtifactError(f"{path}: size or SHA-256 is not the recorded one: the file is damaged")


def _read_state(path: Path, record: dict[str, Any]) -> dict[str, Any]:
    content = _verified(path / STATE, record["files"][STATE]).read_bytes()
    try:
        return json.loads(content)
    except ValueError as error:
        raise ArtifactError(f"{path / STATE}: not JSON ({error})") from None


def _read_arrays(path: Path, entry: dict[str, Any]) -> Arrays:
    _verified(path, entry)
    try:
        return read_arrays(path)
    except (OSError, ValueError) as error:
        raise ArtifactError(f"{path}: not arrays of numbers ({error})") from None
