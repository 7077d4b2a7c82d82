"""JSON lines, or a JSON array in place of them: one value an example."""

import itertools
from collections.abc import Iterator
from pathlib import Path

from hub_modules.storage.json_files import json_value
from tf_adapt.data.formats.bad_rows import every_row
from tf_adapt.data.formats.text import is_blank, lines_of, no_examples, some_lines
from tf_adapt.errors import DataError


def json_values(path: str | Path) -> Iterator[tuple[str, object]]:
    """Place and value of each example.

    Raises:
        DataError: not UTF-8 text; no example; while they are read, a line is no JSON, or empty; a
            duplicate key; NaN or Infinity.
    """
    rest = some_lines(path, lines_of(path))
    begun = [next(rest)]
    while is_blank(begun[-1]):
        begun.append(next(rest))
    lines = itertools.chain(begun, rest)
    if begun[-1].lstrip().startswith("["):
        lines = list(lines)
        array = _array(path, lines)
        if array is not None:
            return array
    numbered = ((f"{path}:{number}", line) for number, line in enumerate(lines, start=1))
    return every_row(path, numbered, lambda line, where: (where, _line(line, where)))


def json_object(value: object, where: str) -> dict[str, object]:
    """The fields of an example.

    Raises:
        DataError: it is no JSON object.
    """
    if not isinstance(value, dict):
        raise DataError(
            f"{where}: expected one JSON object, got {type(value).__name__} {str(value)[:40]}"
        )
    return value


def _line(line: str, where: str) -> object:
    if line == "":
        raise DataError(f"{where}: expected an example, got an empty line; remove it")
    try:
        return json_value(line)
    except ValueError as error:
        raise DataError(
            f"{where}: expected one JSON object, got a line that is none ({error})"
        ) from None


def _array(path: str | Path, lines: list[str]) -> Iterator[tuple[str, object]] | None:
    """The items of a file that is one JSON array of objects (or of lists, as spaCy's), or None."""
    try:
        items = json_value("\n".join(lines))
    except ValueError:  # JSON lines that are arrays, or a damaged array
        if len(lines) > 1 and lines[0].rstrip().endswith("]"):
            return None
        raise DataError(
            f"{path}: expected a JSON array of objects, or a JSON object a line, got neither; is "
            "the file whole?"
        ) from None
    if not items:
        raise no_examples(path)
    if len(lines) == 1 and not isinstance(items[0], dict | list):
        return None
    return ((f"{path}: item {number}", item) for number, item in enumerate(items, start=1))
