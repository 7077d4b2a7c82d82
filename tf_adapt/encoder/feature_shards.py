"""Kept outputs of an encoder on disk, in shards that are whole and verified, or absent.

    CACHE/HASH/.lock
    CACHE/HASH/features/shard_0000/{record.json, lengths.bin, PART.bin, …}

HASH is that of a key with everything the outputs depend on. A shard is published when it is whole;
its record has the sizes and SHA-256 of its files, checked before each use. What is absent or
damaged is computed again, and nothing else: an interrupted pass goes on after its last shard.

Rows are read with `pread` instead of from a memory map: a file that is cut in the meantime would
end the process, and every page of a map that was touched counts as memory of the process. The files
stay open, so that a folder may be removed under a run.
"""

import contextlib
import fcntl
import hashlib
import json
import logging
import math
import os
import shutil
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import Field

from hub_modules.storage.files import changed_part, describe, publish_folder, remove_leftovers
from hub_modules.storage.json_files import Schema, read_json
from hub_modules.storage.records import RECORD, Description
from tf_adapt.encoder.feature_arrays import Computed, Rows
from tf_adapt.encoder.feature_parts import Part
from tf_adapt.errors import ArtifactError

FORMAT = 2
ENTRY, LENGTHS = "features", "lengths.bin"
Shard = tuple[np.ndarray, list[Rows]]
_log = logging.getLogger(__name__)


class _Record(Schema):
    """Content of a shard's `record.json`."""

    format: int
    key: dict[str, Any]
    shard: int = Field(ge=0)
    files: dict[str, Description]


class RowsOnDisk:
    """Rows of a file, which stays open until nothing refers to it any more."""

    def __init__(self, path: Path, shape: tuple[int, ...], dtype: np.dtype):
        self.path = path
        self.row_bytes = math.prod(shape) * dtype.itemsize
        self.failure: ArtifactError | None = None
        self._file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        weakref.finalize(self, os.close, self._file)

    def expect(self, start: int, count: int) -> None:
        """Has the system read ahead."""
        if hasattr(os, "posix_fadvise"):
            place = (start * self.row_bytes, count * self.row_bytes)
            os.posix_fadvise(self._file, *map(int, place), os.POSIX_FADV_WILLNEED)

    def read(self, start: int, out: np.ndarray) -> None:
        """See `Rows`.

        Raises:
            ArtifactError: the file was cut, or the disk has an error. TensorFlow hides it from
                whoever reads batches; it is kept as `failure`.
        """
        # As bytes: bfloat16 is no type of buffers.
        rest, offset = memoryview(out.view(np.uint8).reshape(-1)), int(start) * self.row_bytes
        try:
            while rest:
                count = os.preadv(self._file, [rest], offset)
                if not count:
                    raise OSError(None, "it is shorter than it was")
                rest, offset = rest[count:], offset + count
        except OSError as error:
            self.failure = ArtifactError(
                f"{self.path}: features cannot be read any more ({error.strerror}); start the same "
                "command again: damaged features are computed again"
            )
            raise self.failure from None


def shards_on_disk(
    folder: Path,
    key: dict[str, Any],
    parts: list[Part],
    dtype: np.dtype,
    orders: list[np.ndarray],
    compute: Callable[[list[np.ndarray]], Iterator[Iterator[Computed]]],
    require: bool,
    expected_mb: float,
) -> list[Shard]:
    """Lengths and rows of each shard, read from the entry of a key; what is missing is computed.

    Args:
        folder: of the cache.
        orders: of all shards, as `shard_orders`.
        compute: `computed_shards` of some of these.
        require: fail unless all shards are there and intact.
        expected_mb: megabytes of all shards, to see in time that the disk is full.

    Raises:
        ArtifactError: the folder cannot be written, the disk is full, or `require` and a shard is
            missing or damaged.
    """
    name = hashlib.sha256(json.dumps(key, sort_keys=True).encode("utf-8")).hexdigest()[:32]
    with locked_entry(folder / name):
        entry = folder / name / ENTRY
        found = {
            number: _intact(entry, number, key, parts, dtype, len(order), require)
            for number, order in enumerate(orders)
        }
        missing = [number for number, shard in found.items() if shard is None]
        if missing:
            share = sum(len(orders[number]) for number in missing) / sum(map(len, orders))
            _check_space(folder, share * expected_mb)
        batches = compute([orders[number] for number in missing])
        for number, shard in zip(missing, batches, strict=True):
            try:
                with publish_folder(_path(entry, number)) as aside:
                    _write(aside, number, key, parts, shard)
            except ArtifactError:
                if not _path(entry, number).exists():
                    raise  # else another process wrote it, on a disk without locks
            found[number] = _read(entry, number, key, parts, dtype, len(orders[number]))
        return list(found.values())


def _path(entry: Path, number: int) -> Path:
    return entry / f"shard_{number:04}"


def _intact(
    entry: Path, number: int, key: dict, parts: list[Part], dtype, texts: int, require: bool
) -> Shard | None:
    """A shard, or None if it has to be computed."""
    path = _path(entry, number)
    if not path.exists():
        if require:
            raise ArtifactError(
                f"{path}: the cache has no features of this data and module, and features.require "
                "is true; set it to false to have them computed"
            )
        return None
    try:
        return _read(entry, number, key, parts, dtype, texts)
    except ArtifactError as error:
        if require:
            raise
        _log.warning("%s; computed again", error)
        shutil.rmtree(path, ignore_errors=True)
        return None


def _write(folder: Path, number: int, key: dict, parts: list[Part], shard) -> None:
    names = [f"{part.name}.bin" for part in parts]
    with contextlib.ExitStack() as stack:
        files = [stack.enter_context(open(folder / name, "wb")) for name in names]
        lengths = []
        for tokens, rows in shard:
            lengths.append(tokens)
            for file, one in zip(files, rows, strict=True):
                file.write(one.view(np.uint8).data)
    (folder / LENGTHS).write_bytes(np.concatenate(lengths).astype("<i8").tobytes())
    record = {
        "format": FORMAT,
        "key": key,
        "shard": number,
        "files": {name: describe(folder / name) for name in (LENGTHS, *names)},
    }
    (folder / RECORD).write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def _read(
    entry: Path, number: int, key: dict, parts: list[Part], dtype: np.dtype, texts: int
) -> Shard:
    """A shard, verified.

    Raises:
        ArtifactError: it is incomplete or damaged.
    """
    folder = _path(entry, number)
    try:
        record = read_json(folder / RECORD, _Record)
        if (record.format, record.key, record.shard) != (FORMAT, key, number):
            raise ValueError("its record is of other data")
        if set(record.files) != {LENGTHS, *(f"{part.name}.bin" for part in parts)}:
            raise ValueError("its record names other files")
        for name, described in record.files.items():
            changed = changed_part(folder / name, described.model_dump())
            if changed == "bytes":
                raise ValueError(f"{name}: expected {described.bytes} bytes")
            if changed == "sha256":
                raise ValueError(f"{name} does not have the SHA-256 of its record")
        lengths = np.frombuffer((folder / LENGTHS).read_bytes(), "<i8").astype(np.int64)
        if len(lengths) != texts or (lengths < 0).any():
            raise ValueError(f"expected the lengths of {texts} texts")
        rows = []
        for part in parts:
            name, count = f"{part.name}.bin", texts if part.per_text else int(lengths.sum())
            rows.append(RowsOnDisk(folder / name, part.shape, dtype))
            if count * rows[-1].row_bytes != record.files[name].bytes:
                raise ValueError(f"{name}: expected {count} rows of {rows[-1].row_bytes} bytes")
        return lengths, rows
    except (OSError, ValueError, ArtifactError) as error:
        raise ArtifactError(
            f"{folder}: damaged features ({' '.join(str(error).split())}); remove the folder"
        ) from error


def _check_space(folder: Path, expected_mb: float) -> None:
    free_mb = shutil.disk_usage(folder).free / 1e6
    if expected_mb > free_mb:
        raise ArtifactError(
            f"{folder}: features need {expected_mb:.0f} MB, and {free_mb:.0f} MB are free there; "
            "free space, choose another folder (features.cache, or the run's), or set "
            f"features.disk_limit_mb: {int(free_mb)}, so that the encoder reads the texts instead"
        )


@contextlib.contextmanager
def locked_entry(folder: Path) -> Iterator[None]:
    """Locks an entry of the cache, waiting for other processes; a lock ends with its process.

    Raises:
        ArtifactError: it cannot be written or locked.
    """
    descriptor = _lock_file(folder)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        except OSError as error:
            raise ArtifactError(
                f"{folder}: files cannot be locked there ({error.strerror}); choose another "
                "features.cache, on a local disk"
            ) from None
        remove_leftovers(folder / ENTRY, "shard_*")
        yield
    finally:
        os.close(descriptor)


def _lock_file(folder: Path) -> int:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return os.open(folder / ".lock", os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise ArtifactError(
            f"{folder}: not writable as a cache ({error.strerror}); choose another features.cache"
        ) from None
