"""The folder of one run: who may write in it, which config it belongs to, and what is finished.

    config.yaml  task.json  history.csv  metrics.json  predictions/{dev,test}.tsv  tensorboard/
    checkpoint/

`metrics.json` is written last: with it, the run is finished.
"""

import contextlib
import csv
import fcntl
import io
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tf_adapt.checkpoints import remove_leftovers
from tf_adapt.config import config_from, dump_config
from tf_adapt.config_sections import Config
from tf_adapt.errors import ArtifactError, ConfigError
from tf_adapt.files import write_text
from tf_adapt.strict_yaml import read_yaml

CONFIG, HISTORY, METRICS, LOCK = "config.yaml", "history.csv", "metrics.json", ".lock"
TASK = "task.json"
# What changes no result: the notes, and where features are kept.
FREE_KEYS = ("about", "features.")


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Holds a run folder for this process, creating it; a lock dies with its process.

    Raises:
        ArtifactError: another process holds it, or the folder is not writable.
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
        remove_leftovers(folder)
        remove_leftovers(folder / "checkpoint")
        remove_leftovers(folder / "predictions")
        yield
    finally:
        lock.unlink(missing_ok=True)
        os.close(descriptor)
        if created:
            with contextlib.suppress(OSError):  # only where nothing was written
                folder.rmdir()


def saved_config(folder: Path) -> Config | None:
    """The config a run folder was started with; None for a new or empty folder.

    Raises:
        ArtifactError: the folder holds something else, or its config is damaged.
    """
    path = folder / CONFIG
    if path.is_file():
        try:
            content, lines = read_yaml(path)
            return config_from(content, str(path), {key: f"{path}:{n}" for key, n in lines.items()})
        except ConfigError as error:
            raise ArtifactError(f"run folder: {error}") from None
    if folder.exists() and not folder.is_dir():
        raise ArtifactError(f"{folder}: expected a folder, got a file; choose another --out")
    if folder.is_dir() and not all(_is_passing(entry.name) for entry in folder.iterdir()):
        raise ArtifactError(
            f"{folder}: expected a run folder or an empty one, got files without a {CONFIG}; "
            "choose another --out"
        )
    return None


def check_same_run(folder: Path, started: Config, wanted: Config) -> None:
    """Checks that a run may go on with this config.

    Raises:
        ConfigError: a key differs; only `about` and more `training.epochs` may.
    """
    changed = changed_keys(started, wanted)
    if wanted.training.epochs >= started.training.epochs:
        changed.pop("training.epochs", None)
    if changed:
        shown = ", ".join(changed.values())
        raise ConfigError(
            f"{folder}: this run was started with another config: {shown}; give it another "
            "--out, or the same config (only more training.epochs may be asked of it)"
        )


def changed_keys(started: Config, wanted: Config) -> dict[str, str]:
    """The keys that differ, but for `FREE_KEYS`, each with a text that shows how."""
    before, now = flat(started.model_dump()), flat(wanted.model_dump())
    return {
        key: f"{key} (was {before.get(key)}, now {now.get(key)})"
        for key in sorted(before.keys() | now.keys())
        if before.get(key) != now.get(key) and not key.startswith(FREE_KEYS)
    }


def finished_metrics(folder: Path) -> dict[str, Any] | None:
    """The content of `metrics.json`, or None while the run is not finished.

    Raises:
        ArtifactError: the file is damaged.
    """
    path = folder / METRICS
    if not path.is_file():
        return None
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ArtifactError(
            f"{path}: cannot be read ({error}); remove it and run again to have it rewritten"
        ) from None


def start(folder: Path, config: Config) -> None:
    """Marks the folder as an unfinished run of this config."""
    text = dump_config(config)
    path = folder / CONFIG
    with contextlib.suppress(OSError):
        (folder / METRICS).unlink()
    if not path.is_file() or path.read_text(encoding="utf-8") != text:
        write_text(path, text)


def write_task(folder: Path, description: dict[str, Any]) -> None:
    """Writes `task.json`: the task, so that a run can be used without its data, and its module."""
    write_text(folder / TASK, json.dumps(description, ensure_ascii=False) + "\n")


def saved_task(folder: Path) -> dict[str, Any]:
    """The content of `task.json`.

    Raises:
        ArtifactError: it is missing or damaged.
    """
    path = folder / TASK
    try:
        description = json.loads(path.read_text(encoding="utf-8"))
        return {"task": dict(description["task"]), "module": str(description["module"])}
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise ArtifactError(
            f"{path}: cannot be read ({error}); expected the folder of a run that was started with "
            "`tf-adapt train`"
        ) from None


def write_history(folder: Path, rows: list[dict[str, Any]]) -> None:
    """Writes `history.csv`, one row an epoch."""
    table = io.StringIO()
    writer = csv.DictWriter(table, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_text(folder / HISTORY, table.getvalue())


def write_metrics(folder: Path, metrics: dict[str, Any]) -> None:
    """Writes `metrics.json`, by which the run is finished."""
    write_text(folder / METRICS, json.dumps(metrics, indent=1, ensure_ascii=False) + "\n")


def _is_passing(name: str) -> bool:
    """The lock, and what a killed process was writing: removed by the next one to hold the lock."""
    return name == LOCK or (name.startswith(".") and name.endswith(".partial"))


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
        # Between opening and locking, the last owner may have removed the file that we hold.
        with contextlib.suppress(FileNotFoundError):
            if os.fstat(descriptor).st_ino == lock.stat().st_ino:
                os.ftruncate(descriptor, 0)
                os.write(descriptor, str(os.getpid()).encode("ascii"))
                return descriptor
        os.close(descriptor)


def flat(section: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested sections as one, keys joined by dots."""
    found: dict[str, Any] = {}
    for key, value in section.items():
        if isinstance(value, dict):
            found |= flat(value, f"{prefix}{key}.")
        else:
            found[f"{prefix}{key}"] = value
    return found
