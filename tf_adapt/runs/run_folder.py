"""The folder of one run: its lock, its config, its files, and whether the run is finished.

    config.yaml  task.json  history.csv  metrics.json  predictions/{dev,test}.tsv  tensorboard/
    checkpoint/  start/  teacher/  record.json

The predictions of a run of several tasks are in `predictions/TASK/`.

`metrics.json` is written last and marks a finished run; what it holds is in `run_schemas`.
`record.json` has the hashes of these files; checkpoints have their own records.
"""

import contextlib
import csv
import fcntl
import io
import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml

from hub_modules.storage import records
from hub_modules.storage.files import held, is_leftover, remove_leftovers
from hub_modules.storage.json_files import parse_json
from hub_modules.storage.strict_yaml import parse_yaml
from tf_adapt.errors import ArtifactError, ConfigError
from tf_adapt.runs import checkpoints
from tf_adapt.runs.run_schemas import Metrics, TaskFile

CONFIG, HISTORY, METRICS, LOCK = "config.yaml", "history.csv", "metrics.json", ".lock"
TASK = "task.json"
# The column of the history with `TrainSteps.encoder_share`, where an encoder is trained.
ENCODER_GRADIENT = "encoder_gradient"
TEACHER = "teacher"  # what a teacher answered
START = "start"  # a copy of the run that this one starts from, as far as it is needed
_FILES = (CONFIG, HISTORY, METRICS, TASK, records.RECORD)
# Features of an unfinished run, where they are too large for memory and it has no cache.
FEATURES = ".features"


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Locks a run folder for this process, and creates it; the lock ends with the process.

    Raises:
        ArtifactError: another process holds it, or the folder is not writable; later, as `held`.
    """
    lock = folder / LOCK
    try:
        created = not folder.exists()
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = _acquire(lock)
    except OSError as error:
        raise ArtifactError(
            f"{folder}: not writable as a run folder ({error.strerror}); choose another --out"
        ) from None
    try:
        with held(folder, lock):
            yield
    finally:
        with contextlib.suppress(FileNotFoundError):
            if _is_of(descriptor, lock):  # else it is another process's
                lock.unlink()
        os.close(descriptor)
        if created:
            with contextlib.suppress(OSError):  # only where nothing was written
                folder.rmdir()


def saved_content(folder: Path) -> tuple[dict[str, Any], dict[tuple, str]] | None:
    """The content of `config.yaml`, and where each key is; None for a new or empty folder.

    Raises:
        ArtifactError: the folder holds something else, or its config is damaged.
    """
    path = folder / CONFIG
    if path.is_file():
        text = records.read(folder, CONFIG).decode("utf-8", "replace")
        try:
            content, lines = parse_yaml(text, str(path))
        except ConfigError as error:
            raise ArtifactError(f"run folder: {error}") from None
        return content, {key: f"{path}:{number}" for key, number in lines.items()}
    if folder.exists() and not folder.is_dir():
        raise ArtifactError(f"{folder}: expected a folder, got a file; choose another --out")
    if folder.is_dir() and not all(map(_is_temporary, folder.iterdir())):
        raise ArtifactError(
            f"{folder}: expected a run folder or an empty one, got files without a {CONFIG}; "
            "choose another --out"
        )
    return None


def finished_metrics(folder: Path) -> dict[str, Any] | None:
    """The content of `metrics.json`, or None while the run is not finished.

    Raises:
        ArtifactError: the file is damaged.
    """
    path = folder / METRICS
    if not path.is_file():
        return None
    metrics = parse_json(records.read(folder, METRICS), Metrics, str(path))
    for split in ("dev", "test"):
        scores = getattr(metrics, split)
        if scores is not None and metrics.metric not in scores:
            raise ArtifactError(
                f"{path}: {split}.{metrics.metric}: expected the score by which epochs are "
                "compared, got nothing; make the run again"
            )
    return metrics.model_dump(exclude_unset=True)


def check_new(out: Path) -> None:
    """Checks that there is nothing where a new folder is to be written.

    Raises:
        ArtifactError: there is something.
    """
    if out.exists():
        raise ArtifactError(
            f"{out}: expected a folder that does not exist yet, got an existing one; choose "
            "another --out"
        )


def best_folder(folder: Path, metrics: dict[str, Any]) -> Path:
    """The folder of a finished run's best weights."""
    return folder / "checkpoint" / checkpoints.best_name(metrics["best_epoch"] - 1)


def check_finished(folder: Path, metrics: dict[str, Any]) -> None:
    """Checks the files of a finished run: best weights, task and predictions.

    Raises:
        ArtifactError: something is missing or damaged.
    """
    try:
        for name in records.names(folder):
            records.check(folder, name)
        checkpoints.check(best_folder(folder, metrics))
    except ArtifactError as error:
        raise ArtifactError(
            f"{folder}: the run is finished, but not whole: {error}; or remove {METRICS} there, "
            "and the same command goes on from the last checkpoint that is intact"
        ) from None


def start(folder: Path, config: str, tasks: Sequence[str]) -> None:
    """Marks the folder as an unfinished run of this config; requires the lock.

    Args:
        config: its YAML.
        tasks: names of several tasks.
    """
    remove_leftovers(folder, *_FILES, START, TEACHER)
    remove_leftovers(folder / "checkpoint", *checkpoints.NAMES)
    for task in ("", *tasks):
        remove_leftovers(folder / "predictions" / task, "dev.tsv", "test.tsv")
    with contextlib.suppress(OSError):
        (folder / METRICS).unlink()
    records.write(folder, CONFIG, config)


def write_task(
    folder: Path, task: dict[str, Any] | None, module: str, tasks: dict[str, Any] | None = None
) -> None:
    """Writes `task.json`."""
    content = {"task": task, "module": module} | ({"tasks": tasks} if tasks else {})
    records.write(folder, TASK, json.dumps(content, ensure_ascii=False) + "\n")


def saved_task(folder: Path) -> TaskFile:
    """The content of `task.json`.

    Raises:
        ArtifactError: it is missing or damaged.
    """
    return parse_json(records.read(folder, TASK), TaskFile, str(folder / TASK))


def write_history(folder: Path, rows: list[dict[str, Any]]) -> None:
    """Writes `history.csv`, one row an epoch; one by an earlier version may have fewer columns."""
    table, columns = io.StringIO(), dict.fromkeys(name for row in rows for name in row)
    writer = csv.DictWriter(table, list(columns), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    records.write(folder, HISTORY, table.getvalue())


def read_history(folder: Path) -> list[dict[str, str]]:
    """The rows of `history.csv`, values as text.

    Raises:
        ArtifactError: it is missing or damaged.
    """
    text = records.read(folder, HISTORY).decode("utf-8", "replace")
    return list(csv.DictReader(io.StringIO(text, newline="")))


def write_slices(folder: Path, slices: dict[str, dict[str, Any]]) -> None:
    """Writes other slices into the config of a run; all else in it stays as it was written."""
    text = records.read(folder, CONFIG).decode("utf-8")
    content, _ = parse_yaml(text, str(folder / CONFIG))
    content["slices"] = slices
    records.write(folder, CONFIG, yaml.safe_dump(content, sort_keys=False, allow_unicode=True))


def write_metrics(folder: Path, metrics: dict[str, Any]) -> None:
    """Writes `metrics.json`, which marks the run as finished."""
    records.write(folder, METRICS, json.dumps(metrics, indent=1, ensure_ascii=False) + "\n")


def _is_temporary(entry: Path) -> bool:
    """The lock, and files of a process that was ended before it had written a config; also the run
    that is trained before the folder's own begins."""
    name = entry.name
    if name == START and entry.is_dir():
        return saved_content(entry) is not None or all(map(_is_temporary, entry.iterdir()))
    return name in (LOCK, records.RECORD, FEATURES) or is_leftover(name, *_FILES)


def _acquire(lock: Path) -> int:
    while True:
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            owner = os.read(descriptor, 20).decode("ascii", "replace").strip() or "unknown"
            os.close(descriptor)
            raise ArtifactError(
                f"{lock.parent}: in use by pid {owner}; wait for it, or choose another --out"
            ) from None
        # Between opening and locking, the last owner may have removed the locked file.
        with contextlib.suppress(FileNotFoundError):
            if _is_of(descriptor, lock):
                os.ftruncate(descriptor, 0)
                os.write(descriptor, str(os.getpid()).encode("ascii"))
                return descriptor
        os.close(descriptor)


def _is_of(descriptor: int, lock: Path) -> bool:
    return os.path.samestat(os.fstat(descriptor), lock.stat())
