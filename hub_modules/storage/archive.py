"""Strict unpacking of a module's `.tar.gz`: files and folders only, bounded, all or nothing."""

import gzip
import tarfile
import zlib
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import IO, Protocol

from hub_modules.errors import ArtifactError

# Trained weights hardly compress, graphs to a tenth; content far beyond that is a decompression
# bomb. The first bytes may be those of a graph alone.
LARGEST_COMPRESSION = 20
SMALL_BYTES = 64 * 2**20
LARGEST_BYTES = 64 * 2**30
MOST_ENTRIES = 10_000
# Before a member: its header, and perhaps a long name.
_HEADER_BYTES = 2**20
_CHUNK_BYTES = 2**20


class Readable(Protocol):
    """A stream of bytes."""

    def read(self, size: int) -> bytes:
        """At most `size` bytes; none at the end."""


def unpack(
    packed: Readable, folder: Path, where: str, log: Callable[[int], None] = lambda count: None
) -> None:
    """Unpacks a `.tar.gz` into an existing, empty folder.

    The compressed stream is read to its end, so that its checksum and length reveal damage. Sizes
    are checked while writing.

    Args:
        packed: the compressed bytes, read once from start to end.
        where: names the archive in messages.
        log: called with the number of unpacked bytes of each read.

    Raises:
        ArtifactError: damaged, or members other than files and folders with unique names below the
            folder, or unpacked larger than `LARGEST_COMPRESSION` times the compressed bytes (at
            least `SMALL_BYTES`) or than `LARGEST_BYTES`. The caller removes the files written
            so far.
    """
    source = _Source(packed, where, log)
    try:
        with tarfile.open(fileobj=source, mode="r|") as archive:
            _unpack_members(archive, source, folder, where)
        source.read_to_end()
    except (tarfile.TarError, gzip.BadGzipFile, EOFError, zlib.error, ValueError) as error:
        raise ArtifactError(
            f"{where}: expected a whole .tar.gz archive, got a damaged one or something else "
            f"({error}); try again, or download it elsewhere and give its folder as the handle"
        ) from None


def _unpack_members(archive: tarfile.TarFile, source: "_Source", folder: Path, where: str) -> None:
    names: set[str] = set()
    files: set[str] = set()
    parents: set[str] = set()
    while True:
        source.allow(_HEADER_BYTES)
        member = archive.next()
        if member is None:
            return
        name = _checked_name(member, where)
        above = {str(parent) for parent in PurePosixPath(name).parents}
        if name in names or above & files or (member.isfile() and name in parents):
            raise _refused(where, member, "each name once")
        if len(names) == MOST_ENTRIES:
            raise _refused(where, member, f"at most {MOST_ENTRIES} files and folders")
        names.add(name)
        parents |= above
        if member.isdir():
            (folder / name).mkdir(parents=True, exist_ok=True)
            continue
        files.add(name)
        source.allow(member.size + _HEADER_BYTES)
        _write(archive.extractfile(member), folder / name)


def _write(content: IO[bytes], path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "xb") as file:
        while chunk := content.read(_CHUNK_BYTES):
            file.write(chunk)


def _checked_name(member: tarfile.TarInfo, where: str) -> str:
    regular = member.type in (tarfile.REGTYPE, tarfile.AREGTYPE) and not member.issparse()
    if not regular and not member.isdir():
        raise _refused(where, member, "files and folders only (no links, devices or sparse files)")
    name = PurePosixPath(member.name)
    outside = name.is_absolute() or ".." in name.parts
    if outside or not member.name or "\0" in member.name or (regular and not name.parts):
        raise _refused(where, member, "a name below the folder of the module")
    return str(name)


def _refused(where: str, member: tarfile.TarInfo, expected: str) -> ArtifactError:
    return ArtifactError(
        f"{where}: expected {expected}, got {member.name[:100]!r}; such an archive is not unpacked"
    )


class _Source:
    """The unpacked bytes of a gzip stream, counted and bounded as they are read."""

    def __init__(self, packed: Readable, where: str, log: Callable[[int], None]):
        self._packed = _Counted(packed)
        self._unpacked = gzip.GzipFile(fileobj=self._packed, mode="rb")
        self._where = where
        self._log = log
        self._count = 0
        self._stop = _HEADER_BYTES

    def allow(self, count: int) -> None:
        """Sets how many more bytes may be read until the next call."""
        self._stop = self._count + count

    def read(self, size: int) -> bytes:
        content = self._unpacked.read(size)
        self._count += len(content)
        self._log(len(content))
        largest = max(SMALL_BYTES, LARGEST_COMPRESSION * self._packed.count)
        if max(self._count, self._packed.count) > min(largest, LARGEST_BYTES, self._stop):
            raise ArtifactError(
                f"{self._where}: expected at most {LARGEST_COMPRESSION} times the compressed "
                f"bytes (at least {SMALL_BYTES}), {LARGEST_BYTES} in all and {_HEADER_BYTES} "
                f"before a file, got more after {self._count} bytes; such an archive is not "
                "unpacked"
            )
        return content

    def read_to_end(self) -> None:
        """Reads the padding after the archive, so that the checksum of the stream is checked.

        Raises:
            ValueError: it is not padding.
        """
        self.allow(_HEADER_BYTES)
        while content := self.read(_CHUNK_BYTES):
            if content.strip(b"\0"):
                raise ValueError("bytes after the end of the archive")


class _Counted:
    """A stream that counts the bytes read from it."""

    def __init__(self, stream: Readable):
        self._stream = stream
        self.count = 0

    def read(self, size: int) -> bytes:
        content = self._stream.read(size)
        self.count += len(content)
        return content
