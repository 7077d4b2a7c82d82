"""Converted graphs on disk, so that a module is converted once for all processes.

A folder of the user's cache for each, named by a hash of everything it depends on. It is whole or
absent; one that is damaged is made again.
"""

import contextlib
import hashlib
import json
import logging
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hub_modules.errors import ArtifactError
from hub_modules.storage.files import changed_part, describe, is_leftover, publish_folder
from hub_modules.storage.json_files import Schema, read_json
from hub_modules.storage.records import Description
from hub_modules.storage.user_cache import user_cache

log = logging.getLogger(__name__)

FILES = ("model.xml", "model.bin")
RECORD = "record.json"
# Each tuned encoder is an entry: those that were used last stay.
MOST_ENTRIES = 8
# The age at which an unfinished entry is taken to be that of a killed process.
_LEFT_SECONDS = 24 * 3600


class _Record(Schema):
    """What an entry is of, and its files."""

    key: dict[str, Any]
    files: dict[str, Description]


def cache_folder() -> Path | None:
    """The folder of the converted graphs; None without a home folder."""
    cache = user_cache()
    return None if cache is None else cache / "openvino"


def read_or_make(key: dict[str, Any], read: Callable, make: Callable, write: Callable) -> Any:
    """The graph of a key: from the cache, or made and written to it.

    Args:
        key: plain values, everything that the graph depends on.
        read: a folder with `FILES` → the graph.
        make: () → the graph.
        write: the graph and a folder, which then has `FILES`.
    """
    folder = cache_folder()
    if folder is None:
        return make()
    entry = folder / hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()[:32]
    if entry.exists():
        try:
            _check(entry, key)
            graph = read(entry)
            os.utime(entry)
            return graph
        # What OpenVINO says of a damaged file has no type of its own.
        except Exception as error:
            log.warning("%s: %s; it is converted again", entry, " ".join(str(error).split())[:300])
            shutil.rmtree(entry, ignore_errors=True)
    graph = make()
    try:
        with publish_folder(entry) as aside:
            write(graph, aside)
            files = {name: describe(aside / name) for name in FILES}
            (aside / RECORD).write_text(json.dumps({"key": key, "files": files}), "utf-8")
        _remove_oldest(folder)
    except ArtifactError as error:
        # Another process may have been first; or the disk is full, which only costs time.
        if not entry.exists():
            log.warning("%s; the graph is converted again by the next process", error)
    return graph


def _check(entry: Path, key: dict[str, Any]) -> None:
    record = read_json(entry / RECORD, _Record)
    if record.key != key or set(record.files) != set(FILES):
        raise ArtifactError(f"{entry / RECORD}: expected the record of this graph, got another one")
    for name, described in record.files.items():
        changed = changed_part(entry / name, described.model_dump())
        if changed is not None:
            raise ArtifactError(f"{entry / name}: its {changed} is not the one in {RECORD}")


def _remove_oldest(folder: Path) -> None:
    entries = [path for path in folder.iterdir() if (path / RECORD).is_file()]
    for path in sorted(entries, key=lambda entry: entry.stat().st_mtime)[:-MOST_ENTRIES]:
        shutil.rmtree(path, ignore_errors=True)
    for path in folder.iterdir():
        with contextlib.suppress(FileNotFoundError):  # another process has tidied up
            if is_leftover(path.name, "*") and path.stat().st_mtime < time.time() - _LEFT_SECONDS:
                shutil.rmtree(path, ignore_errors=True)
