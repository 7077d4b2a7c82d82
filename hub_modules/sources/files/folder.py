"""The small files of foreign models: settings in JSON, and the vocabulary."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hub_modules.errors import ArtifactError
from hub_modules.storage.json_files import json_value

LARGEST_TEXT_BYTES = 16 * 2**20
SPECIAL_PIECES = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")

KINDS = {
    "a positive integer": lambda value: type(value) is int and value > 0,
    # Numbers that bound a loop have a limit, so that a wrong one cannot hang the process.
    "an integer from 1 to 1000": lambda value: type(value) is int and 1 <= value <= 1000,
    "an integer from 0 to 1000": lambda value: type(value) is int and 0 <= value <= 1000,
    "a list": lambda value: type(value) is list and len(value) <= 1000,
    "a long list": lambda value: type(value) is list,
    "true or false": lambda value: type(value) is bool,
    "a text": lambda value: type(value) is str,
    "an object": lambda value: type(value) is dict,
    "a positive number": lambda value: _is_finite(value) and value > 0,
    "a positive number or null": lambda value: value is None or (_is_finite(value) and value > 0),
    "a number from 0 to below 1": lambda value: _is_finite(value) and 0 <= value < 1,
}

_REQUIRED = object()
_SAY_IT = "say --lower-case or --cased (in Python: lower_case=True or False)"


def read_json(path: Path, largest: int = LARGEST_TEXT_BYTES) -> dict:
    """Reads a JSON object.

    Raises:
        ArtifactError: the file is missing, larger than `largest` bytes, not UTF-8, not JSON, or not
            an object.
    """
    value = read_json_value(path, largest)
    if not isinstance(value, dict):
        raise ArtifactError(f"{path}: expected a JSON object, got {type(value).__name__}")
    return value


def read_json_value(path: Path, largest: int = LARGEST_TEXT_BYTES) -> Any:
    """As `read_json`, of any JSON.

    Raises:
        ArtifactError: as `read_json`.
    """
    text = read_text(path, largest)
    try:
        return json_value(text)
    except ValueError as error:
        raise ArtifactError(f"{path}: expected JSON, got something else: {error}") from error


def setting(settings: dict, key: str, kind: str, where: Path, default=_REQUIRED):
    """A value of `settings` after a check of its kind; `key` may be a path such as `lstm.dim`.

    Raises:
        ArtifactError: the key is missing and has no default, or its value is of another kind.
    """
    value = settings
    for part in key.split("."):
        value = value.get(part, _REQUIRED) if isinstance(value, dict) else _REQUIRED
    if value is _REQUIRED:
        if default is not _REQUIRED:
            return default
        raise ArtifactError(f"{where}: {key}: expected {kind}, got nothing; add the key")
    if not KINDS[kind](value):
        raise ArtifactError(f"{where}: {key}: expected {kind}, got {value!r}")
    return value


def read_vocabulary(path: Path, rows: int, special: Sequence[str] = SPECIAL_PIECES) -> list[str]:
    """Reads word pieces, one a line; the line number (from 0) is the id.

    Raises:
        ArtifactError: missing or not UTF-8, or as in `check_vocabulary`.
    """
    lines = read_text(path).removeprefix("\ufeff").split("\n")
    pieces = [line.removesuffix("\r") for line in lines]
    if pieces[-1] == "":
        pieces.pop()
    return check_vocabulary(pieces, rows, str(path), special)


def check_vocabulary(
    pieces: list[str], rows: int, where: str, special: Sequence[str] = SPECIAL_PIECES
) -> list[str]:
    """The pieces, after a check that they can be a BERT's vocabulary.

    Args:
        rows: rows of the embedding table, which may have unused ones at its end.

    Raises:
        ArtifactError: a piece is empty or a duplicate, a special piece is missing, or there are
            more pieces than rows.
    """
    first_line: dict[str, int] = {}
    for number, piece in enumerate(pieces, start=1):
        if piece == "":
            raise ArtifactError(f"{where}:{number}: expected a word piece, got an empty line")
        if first_line.setdefault(piece, number) != number:
            raise ArtifactError(
                f"{where}:{number}: the piece {piece!r} is already on line {first_line[piece]}; "
                "expected each piece once"
            )
    missing = [piece for piece in special if piece not in first_line]
    if missing:
        raise ArtifactError(
            f"{where}: expected the special pieces {', '.join(special)}, got none of "
            f"{', '.join(missing)}; use the vocabulary that belongs to the weights"
        )
    if len(pieces) > rows:
        raise ArtifactError(
            f"{where}: expected at most {rows} pieces (rows of the word embeddings), got "
            f"{len(pieces)}; the vocabulary belongs to another model"
        )
    return pieces


def write_vocabulary(path: Path, pieces: list[str] | None) -> None:
    """The reverse of `read_vocabulary`.

    Raises:
        ArtifactError: there is no vocabulary.
    """
    if pieces is None:
        raise ArtifactError(f"{path.name}: expected a vocabulary, got none; add one to the source")
    path.write_text("".join(f"{piece}\n" for piece in pieces), encoding="utf-8", newline="\n")


def lower_casing(
    recorded: bool | None, given: bool | None, where: Path, remedy: str = _SAY_IT
) -> bool:
    """Whether text is lower-cased: as the source records it, else as the user gives it.

    Args:
        remedy: what to do where neither says it.

    Raises:
        ArtifactError: both are None, or they differ.
    """
    if recorded is None and given is None:
        raise ArtifactError(
            f"{where}: expected a record of whether the vocabulary is lower-cased, got none; "
            f"{remedy}"
        )
    if recorded is not None and given is not None and recorded != given:
        raise ArtifactError(
            f"{where}: records lower-casing = {recorded}, but {given} was asked for; leave "
            "--lower-case or --cased out, or use the tokenizer settings that belong to the weights"
        )
    return recorded if recorded is not None else given


def require_file(path: Path, what: str) -> Path:
    """The path, if the file exists.

    Raises:
        ArtifactError: it does not; `what` describes it in the message.
    """
    if not path.is_file():
        raise ArtifactError(f"{path}: expected {what}, got no such file")
    return path


def _is_finite(value) -> bool:
    return type(value) in (int, float) and math.isfinite(value)


def read_text(path: Path, largest: int = LARGEST_TEXT_BYTES) -> str:
    """The text of a UTF-8 file.

    Raises:
        ArtifactError: missing, larger than `largest` bytes, or not UTF-8.
    """
    require_file(path, "a text file")
    if path.stat().st_size > largest:
        raise ArtifactError(f"{path}: expected at most {largest} bytes, got {path.stat().st_size}")
    try:
        return path.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        raise ArtifactError(
            f"{path}: expected UTF-8, got byte {error.object[error.start]:#04x} at offset "
            f"{error.start}"
        ) from error
