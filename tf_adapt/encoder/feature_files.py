"""Files of cached features: shards that are complete and verified, or absent.

    CACHE/HASH/.lock
    CACHE/HASH/features/PART/shard_0000/{record.json, lengths.bin, rows.bin}

HASH is that of a key with everything the outputs depend on; a part is what some head reads of them.
A shard is published when it is whole; its record has the sizes and SHA-256 of its files, checked
before each use.

Rows are read with `pread` instead of from a memory map: a file that is cut in the meantime would
end the process, and every page of a map that was touched counts as memory of the process. The files
stay open, so that a folder may be removed under a run.
"""

import contextlib
import hashlib
import json
import logging
import math
import os
import shutil
import weakref
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import Field

from hub_modules.storage.files import changed_part, describe, publish_folder
from hub_modules.storage.json_files import Schema, read_json
from hub_modules.storage.records import RECORD, Description
from tf_adapt.encoder.feature_arrays import Computed, Rows
from tf_adapt.encoder.feature_parts import FeaturePart
from tf_adapt.errors import ArtifactError

FORMAT = 3
ENTRY, LENGTHS, ROWS = "features", "lengths.bin", "rows.bin"
Shard = tuple[np.ndarray, list[Rows]]
_log = logging.getLogger(__name__)


class _Record(Schema):
    """Content of a shard's `record.json`."""

    format: int
    key: dict[str, Any]
    part: list[str | int]
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


@dataclass(frozen=True)
class Entry:
    """The entry of a key in a cache.

    Attributes:
        cache: folder of the cache.
        key: everything the outputs depend on.
        dtype: of the rows.
        orders: the texts of each shard, as `shard_orders`.
    """

    cache: Path
    key: dict[str, Any]
    dtype: np.dtype
    orders: list[np.ndarray]

    @property
    def folder(self) -> Path:
        """The folder of the entry."""
        content = json.dumps(self.key, sort_keys=True).encode("utf-8")
        return self.cache / hashlib.sha256(content).hexdigest()[:32]

    def shard(self, part: FeaturePart, number: int) -> Path:
        """The folder of a shard."""
        return self.folder / ENTRY / part.name / f"shard_{number:04}"

    def share(self, numbers: Iterable[int]) -> float:
        """The share of all texts that are in these shards."""
        return sum(len(self.orders[number]) for number in numbers) / sum(map(len, self.orders))


def intact_shards(entry: Entry, part: FeaturePart, require: bool) -> dict[int, Shard]:
    """The shards of a part that need not be computed."""
    intact = {}
    for number in range(len(entry.orders)):
        if not entry.shard(part, number).exists():
            continue
        try:
            intact[number] = read_shard(entry, part, number)
        except ArtifactError as error:
            if require:
                raise
            _log.warning("%s; computed again", error)
            shutil.rmtree(entry.shard(part, number), ignore_errors=True)
    return intact


def read_shard(entry: Entry, part: FeaturePart, number: int) -> Shard:
    """A part of a shard, verified.

    Raises:
        ArtifactError: it is incomplete or damaged.
    """
    folder, texts = entry.shard(part, number), len(entry.orders[number])
    try:
        record = read_json(folder / RECORD, _Record)
        identity = (record.format, record.key, record.part, record.shard)
        if identity != (FORMAT, entry.key, [part.name, *part.shape], number):
            raise ValueError("its record is of other data")
        if set(record.files) != {LENGTHS, ROWS}:
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
        rows = RowsOnDisk(folder / ROWS, part.shape, entry.dtype)
        count = texts if part.per_text else int(lengths.sum())
        if count * rows.row_bytes != record.files[ROWS].bytes:
            raise ValueError(f"{ROWS}: expected {count} rows of {rows.row_bytes} bytes")
        return lengths, [rows]
    except (OSError, ValueError, ArtifactError) as error:
        raise ArtifactError(
            f"{folder}: damaged features ({' '.join(str(error).split())}); remove the folder"
        ) from error


def write_shard(
    entry: Entry, parts: list[FeaturePart], number: int, batches: Iterator[Computed]
) -> None:
    """Writes those parts of a shard that are not there."""
    absent = [part for part in parts if not entry.shard(part, number).exists()]
    with contextlib.ExitStack() as stack:
        folders = [stack.enter_context(_published(entry.shard(part, number))) for part in absent]
        lengths = []
        with contextlib.ExitStack() as opened:
            files = [opened.enter_context(open(folder / ROWS, "wb")) for folder in folders]
            for tokens, rows in batches:
                lengths.append(tokens)
                for part, file in zip(absent, files, strict=True):
                    file.write(rows[parts.index(part)].view(np.uint8).data)
        for part, folder in zip(absent, folders, strict=True):
            (folder / LENGTHS).write_bytes(np.concatenate(lengths).astype("<i8").tobytes())
            record = {
                "format": FORMAT,
                "key": entry.key,
                "part": [part.name, *part.shape],
                "shard": number,
                "files": {name: describe(folder / name) for name in (LENGTHS, ROWS)},
            }
            text = json.dumps(record, indent=1) + "\n"
            (folder / RECORD).write_text(text, encoding="utf-8")


@contextlib.contextmanager
def _published(path: Path) -> Iterator[Path]:
    """As `publish_folder`; but on a disk without locks another process may have written it."""
    try:
        with publish_folder(path) as aside:
            yield aside
    except ArtifactError:
        if not path.exists():
            raise
