"""Bytes to lines: strict UTF-8, split at line feeds only; other formats are refused by name.

`str.splitlines` breaks at characters that occur inside sentences (U+2028, U+0085, 0x0B, 0x1C),
and a lenient decoder replaces invalid bytes; both change examples silently.
"""

import codecs
import contextlib
import gzip
import itertools
import math
import os
import string
import sys
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from tf_adapt.data.formats.records import Record, check_text
from tf_adapt.data.formats.suffixes import SUFFIXES, is_gzip, suffix_of
from tf_adapt.data.stored.sequences import stored
from tf_adapt.errors import DataError

_SIGNATURES = {
    b"\x1f\x8b": "a gzip file",
    b"PK\x03\x04": "a zip file (or a spreadsheet)",
    b"\xfd7zXZ\x00": "an xz file",
    codecs.BOM_UTF16_LE: "UTF-16 text",
    codecs.BOM_UTF16_BE: "UTF-16 text",
}
# Bytes that show whether a file with a NUL is text.
_START = 1000


class StandardInput:
    """Standard input in place of a path, for a reader; messages call it `<stdin>`."""

    def __str__(self) -> str:
        return "<stdin>"

    def opened(self) -> contextlib.AbstractContextManager[Iterable[bytes]]:
        """Its lines of bytes to the end, whatever the terminal's encoding."""
        if sys.stdin is None:  # closed before the start
            raise OSError("it is closed")
        return contextlib.nullcontext(sys.stdin.buffer)


class KnownLines(StandardInput):
    """The lines of a file that was read before, in place of its path, for a reader."""

    def __init__(self, lines: Sequence[str], name: str | os.PathLike | StandardInput = "<stdin>"):
        self.lines = lines
        self.name = str(name)

    def __str__(self) -> str:
        return self.name

    @property
    def named_as_table(self) -> bool:
        """Whether the file's name says its format."""
        return suffix_of(self.name) in SUFFIXES

    @property
    def looks_like_json(self) -> bool:
        """Whether the first line begins an object, or an array of objects."""
        first = next((line.strip() for line in self.lines if not is_blank(line)), "")
        return first.startswith(("{", "[{", "[[")) or first == "["

    def opened(self) -> contextlib.AbstractContextManager[Iterable[bytes]]:
        """The lines as they were."""
        return contextlib.nullcontext(f"{line}\n".encode() for line in self.lines)


def named_input(name: str | os.PathLike) -> Path | StandardInput:
    """The input of a command: a file, or standard input if the name is `-`."""
    return StandardInput() if str(name) == "-" else Path(name)


def read_lines(path: str | Path | StandardInput) -> list[str]:
    """The lines of a UTF-8 file; line `i` of the file is item `i - 1`. As `lines_of`."""
    return list(lines_of(path))


def lines_of(path: str | Path | StandardInput) -> Iterator[str]:
    """The lines of a UTF-8 file, without their ends, one by one.

    A file named `.gz` is unpacked.

    A byte order mark at the start and carriage returns before line feeds are removed. Every other
    character is kept.

    Raises:
        DataError: the file is missing, a folder or unreadable; it is not UTF-8 text; it holds a
            NUL byte; its lines end in carriage returns alone.
    """
    offset, start = 0, b""
    with contextlib.closing(_raw_lines(path)) as raw_lines:
        for number, raw in enumerate(raw_lines, start=1):
            start += raw[: _START - len(start)]
            if number == 1:
                _refuse_other_formats(path, raw)
            if b"\0" in raw:
                start += b"".join(itertools.islice(raw_lines, _START))[: _START - len(start)]
                raise _has_nul(path, start, number, offset + raw.index(b"\0"))
            line = _decode(path, raw, number, offset)
            offset += len(raw)
            if number == 1:
                line = line.removeprefix("\ufeff")
                if "\r" in line and not line.endswith("\n"):
                    raise DataError(
                        f"{path}: expected lines that end in a line feed, got carriage returns "
                        "alone; convert the line ends"
                    )
            if line:
                yield line.removesuffix("\n").removesuffix("\r")


def read_texts(
    path: str | Path, skip_empty: bool = False, memory_mb: float = math.inf
) -> tuple[Sequence[Record], int]:
    """The texts of a file, one a line, and the number of empty lines.

    Args:
        skip_empty: skip lines of white space only; otherwise they are refused.
        memory_mb: of texts; more are on disk.

    Raises:
        DataError: as `read_lines`; a line is empty; there is no text.
    """
    lines = 0

    def texts() -> Iterator[Record]:
        nonlocal lines
        for lines, line in enumerate(lines_of(path), start=1):
            where = f"{path}:{lines}"
            if line.strip(string.whitespace):
                yield Record(check_text(line, where), where=where)
            elif not skip_empty:
                raise DataError(
                    f"{where}: expected a text, got an empty line; remove it, or set "
                    "data.skip_empty: true to have such lines skipped and counted"
                )

    kept = stored(texts(), memory_mb)
    if not kept:
        raise no_examples(path)
    return kept, lines - len(kept)


def no_examples(path: str | Path) -> DataError:
    """The error for a file without examples."""
    return DataError(f"{path}: no examples in this file; expected at least one")


def is_blank(line: str) -> bool:
    """True if the line holds only spaces and tabs (other white space may be a token)."""
    return not line.strip(" \t")


def is_missing(value: object) -> bool:
    """True for null, and for a text of spaces and tabs."""
    return value is None or (isinstance(value, str) and is_blank(value))


def some_lines(path: str | Path | StandardInput, lines: Iterable[str]) -> Iterator[str]:
    """The lines.

    Raises:
        DataError: with the first one, if all of them hold only spaces and tabs.
    """
    rest, begun = iter(lines), []
    for line in rest:
        begun.append(line)
        if not is_blank(line):
            yield from begun
            yield from rest
            return
    raise no_examples(path)


def _raw_lines(path: str | Path | StandardInput) -> Iterator[bytes]:
    """The bytes of each line, with its line feed."""
    try:
        with _opened(path) as file:
            yield from file
    except FileNotFoundError:
        raise DataError(
            f"{path}: expected a file, got nothing of that name; a path in a config begins at the "
            "folder from which tf-adapt is called"
        ) from None
    except IsADirectoryError:
        raise DataError(f"{path}: expected a file, got a folder; name a file in it") from None
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: cannot be read ({error})") from error


def _opened(path: str | Path | StandardInput) -> contextlib.AbstractContextManager[Iterable[bytes]]:
    if isinstance(path, StandardInput):
        return path.opened()
    if is_gzip(path):
        return _unpacked(path)
    if Path(path).is_char_device() and not str(path).startswith(("/dev/std", "/dev/fd")):
        raise DataError(f"{path}: expected a file, got a device, which may never end")
    if Path(path).is_fifo() and not str(path).startswith(("/dev/", "/proc/")):
        raise DataError(
            f"{path}: expected a file, got a named pipe, which may never begin; write what it "
            "brings to a file"
        )
    return open(path, "rb")


@contextlib.contextmanager
def _unpacked(path: str | Path) -> Iterator[Iterable[bytes]]:
    try:
        with gzip.open(path) as file:
            yield file
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise OSError(f"a damaged gzip file: {error}") from error


def _refuse_other_formats(path: str | Path, content: bytes) -> None:
    for signature, looks_like in _SIGNATURES.items():
        if content.startswith(signature):
            raise DataError(
                f"{path}: expected UTF-8 text, got what looks like {looks_like}; convert it first"
            )


def _has_nul(path: str | Path, start: bytes, line: int, offset: int) -> DataError:
    if start.count(b"\0") > len(start) / 5:
        return DataError(
            f"{path}: expected UTF-8 text, got what looks like UTF-16 text or a binary file "
            f"(many NUL bytes, the first at byte offset {offset}); convert it first"
        )
    return DataError(
        f"{path}:{line}: expected text, got a NUL byte at byte offset {offset}; remove it"
    )


def _decode(path: str | Path, raw: bytes, line: int, offset: int) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise DataError(
            f"{path}:{line}: expected UTF-8, got byte 0x{raw[error.start]:02X} at byte offset "
            f"{offset + error.start}, which is not; the file may be in Latin-1 or another "
            "encoding: convert it to UTF-8"
        ) from None
