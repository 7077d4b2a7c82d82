"""Bytes to lines: strict UTF-8, split at line feeds only; other formats are refused by name.

`str.splitlines` breaks at characters that occur inside sentences (U+2028, U+0085, 0x0B, 0x1C),
and a lenient decoder replaces invalid bytes; both change examples silently.
"""

import codecs
import gzip
import os
import string
import sys
import zlib
from pathlib import Path

from tf_adapt.data.formats.records import Record, check_text
from tf_adapt.data.formats.suffixes import SUFFIXES, is_gzip, suffix_of
from tf_adapt.errors import DataError

_SIGNATURES = {
    b"\x1f\x8b": "a gzip file",
    b"PK\x03\x04": "a zip file (or a spreadsheet)",
    b"\xfd7zXZ\x00": "an xz file",
    codecs.BOM_UTF16_LE: "UTF-16 text",
    codecs.BOM_UTF16_BE: "UTF-16 text",
}


class StandardInput:
    """Standard input in place of a path, for a reader; messages call it `<stdin>`."""

    def __str__(self) -> str:
        return "<stdin>"

    def read_bytes(self) -> bytes:
        """All bytes to the end, whatever the terminal's encoding."""
        if sys.stdin is None:  # closed before the start
            raise OSError("it is closed")
        return sys.stdin.buffer.read()


class KnownLines(StandardInput):
    """The lines of a file that was read before, in place of its path, for a reader."""

    def __init__(self, lines: list[str], name: str | os.PathLike | StandardInput = "<stdin>"):
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

    def read_bytes(self) -> bytes:
        """The lines as they were."""
        return "".join(f"{line}\n" for line in self.lines).encode("utf-8")


def named_input(name: str | os.PathLike) -> Path | StandardInput:
    """The input of a command: a file, or standard input if the name is `-`."""
    return StandardInput() if str(name) == "-" else Path(name)


def read_lines(path: str | Path | StandardInput) -> list[str]:
    """The lines of a UTF-8 file, without their ends; line `i` of the file is item `i - 1`.

    A file named `.gz` is unpacked.

    A byte order mark at the start and carriage returns before line feeds are removed. Every other
    character is kept.

    Raises:
        DataError: the file is missing, a folder or unreadable; it is not UTF-8 text; it holds a
            NUL byte; its lines end in carriage returns alone.
    """
    content = _read_bytes(path)
    _refuse_other_formats(path, content)
    _refuse_nul(path, content)
    text = _decode(path, content).removeprefix("\ufeff")
    if "\r" in text and "\n" not in text:
        raise DataError(
            f"{path}: expected lines that end in a line feed, got carriage returns alone; "
            "convert the line ends"
        )
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    return [line.removesuffix("\r") for line in lines]


def read_texts(path: str | Path, skip_empty: bool = False) -> tuple[list[Record], int]:
    """The texts of a file, one a line, and the number of empty lines.

    Args:
        skip_empty: skip lines of white space only; otherwise they are refused.

    Raises:
        DataError: as `read_lines`; a line is empty; there is no text.
    """
    texts, empty = [], 0
    for number, line in enumerate(read_lines(path), start=1):
        where = f"{path}:{number}"
        if line.strip(string.whitespace):
            texts.append(Record(check_text(line, where), where=where))
        elif not skip_empty:
            raise DataError(
                f"{where}: expected a text, got an empty line; remove it, or set data.skip_empty: "
                "true to have such lines skipped and counted"
            )
        else:
            empty += 1
    if not texts:
        raise no_examples(path)
    return texts, empty


def no_examples(path: str | Path) -> DataError:
    """The error for a file without examples."""
    return DataError(f"{path}: no examples in this file; expected at least one")


def is_blank(line: str) -> bool:
    """True if the line holds only spaces and tabs (other white space may be a token)."""
    return not line.strip(" \t")


def is_missing(value: object) -> bool:
    """True for null, and for a text of spaces and tabs."""
    return value is None or (isinstance(value, str) and is_blank(value))


def _read_bytes(path: str | Path | StandardInput) -> bytes:
    try:
        if isinstance(path, StandardInput):
            return path.read_bytes()
        if is_gzip(path):
            return _unpacked(path)
        if Path(path).is_char_device() and not str(path).startswith(("/dev/std", "/dev/fd")):
            raise DataError(f"{path}: expected a file, got a device, which may never end")
        if Path(path).is_fifo() and not str(path).startswith(("/dev/", "/proc/")):
            raise DataError(
                f"{path}: expected a file, got a named pipe, which may never begin; write what it "
                "brings to a file"
            )
        return Path(path).read_bytes()
    except FileNotFoundError:
        raise DataError(
            f"{path}: expected a file, got nothing of that name; a path in a config begins at the "
            "folder from which tf-adapt is called"
        ) from None
    except IsADirectoryError:
        raise DataError(f"{path}: expected a file, got a folder; name a file in it") from None
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: cannot be read ({error})") from error


def _unpacked(path: str | Path) -> bytes:
    try:
        return gzip.decompress(Path(path).read_bytes())
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise OSError(f"a damaged gzip file: {error}") from error


def _refuse_other_formats(path: str | Path, content: bytes) -> None:
    for signature, looks_like in _SIGNATURES.items():
        if content.startswith(signature):
            raise DataError(
                f"{path}: expected UTF-8 text, got what looks like {looks_like}; convert it first"
            )


def _refuse_nul(path: str | Path, content: bytes) -> None:
    offset = content.find(b"\0")
    if offset < 0:
        return
    start = content[:1000]
    if start.count(b"\0") > len(start) / 5:
        raise DataError(
            f"{path}: expected UTF-8 text, got what looks like UTF-16 text or a binary file "
            f"(many NUL bytes, the first at byte offset {offset}); convert it first"
        )
    raise DataError(
        f"{path}:{_line_number(content, offset)}: expected text, got a NUL byte "
        f"at byte offset {offset}; remove it"
    )


def _decode(path: str | Path, content: bytes) -> str:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise DataError(
            f"{path}:{_line_number(content, error.start)}: expected UTF-8, got byte "
            f"0x{content[error.start]:02X} at byte offset {error.start}, which is not; "
            "the file may be in Latin-1 or another encoding: convert it to UTF-8"
        ) from None


def _line_number(content: bytes, offset: int) -> int:
    return content.count(b"\n", 0, offset) + 1
