"""The rows of a table with all their fields, whatever these hold."""

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

from tf_adapt.data.formats.bad_rows import every_row
from tf_adapt.data.formats.json_objects import json_object, json_values
from tf_adapt.data.formats.tables import (
    check_columns,
    check_header,
    delimited_rows,
    tab_rows,
)
from tf_adapt.data.formats.text import KnownLines, no_examples

Row = tuple[str, dict[str, Any]]


def header_names(path: KnownLines, data: Any) -> list[str]:
    """The names in the first line of a table that is not JSON.

    Raises:
        DataError: quotes are not as in RFC 4180.
    """
    return next(_rows(path, data), (1, []))[1]


def table_rows(path: KnownLines, data: Any, columns: Mapping[str, str]) -> Iterator[Row]:
    """Place and fields of each row; those of an empty line are empty.

    Args:
        data: its `format` and `delimiter`.
        columns: whose names the table must have.

    Raises:
        DataError: not JSON; a column is missing, or a row has too many or too few.
    """
    if data.format == "jsonl":
        yield from ((where, json_object(value, where)) for where, value in json_values(path))
        return
    rows = _rows(path, data)
    _, header = next(rows, (1, []))
    check_header(header, list(columns.values()), f"{path}:1")

    def parsed(row: list[str], where: str) -> Row:
        values = check_columns(row, len(header), where) if row else [""] * len(header)
        return where, dict(zip(header, values, strict=True))

    numbered = ((f"{path}:{number}", row) for number, row in rows)
    first = next(numbered, None)
    if first is None:
        raise no_examples(path)
    yield from every_row(path, chain([first], numbered), parsed)


def _rows(path: KnownLines, data: Any) -> Iterator[tuple[int, list[str]]]:
    if data.format == "csv":
        return delimited_rows(data.delimiter or ",", path, path.lines)
    return tab_rows(path, path.lines)
