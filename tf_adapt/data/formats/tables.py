"""A user's own tables: tab-separated values, comma-separated values and JSON lines.

A line is one example, except that quoted fields of comma-separated values may hold line breaks.
`columns` maps `text_a`, `text_b`, `label`, `genre` and `group` (all but the first optional) to the
names in the file.
"""

import csv
import functools
import itertools
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from tf_adapt.data.formats.bad_rows import every_row
from tf_adapt.data.formats.json_objects import json_object, json_values
from tf_adapt.data.formats.records import (
    Record,
    check_group,
    check_outer_space,
    check_score,
    check_text,
)
from tf_adapt.data.formats.text import is_missing, lines_of, some_lines
from tf_adapt.data.stored.sequences import stored
from tf_adapt.errors import DataError

DELIMITERS = (",", ";", "\t", "|")
ParseLabel = Callable[[object, str], str | float | tuple[str, ...]]
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
# Columns that only training and scoring need, not prediction.
_OF_LABELLED = ("label", "group")
# A setting of the whole process, by default 131,072 characters; it is only raised.
csv.field_size_limit(max(csv.field_size_limit(), 2**31 - 1))


def read_tsv(
    path: str | Path,
    columns: Mapping[str, str],
    parse_label: ParseLabel | None = None,
    labelled: bool = True,
    may_lack_label: bool = False,
    memory_mb: float = math.inf,
) -> Sequence[Record]:
    """Reads tab-separated values with a header, without quoting: a `"` is an ordinary character.

    Args:
        path: file in UTF-8.
        columns: names of the columns, see the module's docstring.
        parse_label: `text_label` (default), `number_label` or `named_label(…)`.
        labelled: False leaves every label and group None; the file need not have those columns.
        may_lack_label: an example without a label gets None, where it is refused otherwise.
        memory_mb: of examples; more are on disk.

    Raises:
        DataError: not UTF-8 text; a column is missing or a duplicate, or a line has too many or too
            few; an empty text, label or group; no example.
    """
    rows = _rows(path, columns, parse_label, labelled, may_lack_label, tab_rows)
    return stored(rows, memory_mb)


def read_csv(
    path: str | Path,
    columns: Mapping[str, str],
    parse_label: ParseLabel | None = None,
    labelled: bool = True,
    may_lack_label: bool = False,
    memory_mb: float = math.inf,
    delimiter: str = ",",
) -> Sequence[Record]:
    """Reads comma-separated values with a header, fields quoted as in RFC 4180.

    A quoted field may hold line breaks, which become line feeds; `where` is the first line of an
    example.

    Args and Raises as in `read_tsv`; a quote that is never closed, or is followed by more than a
    delimiter, is a DataError too.
    """
    split = functools.partial(delimited_rows, delimiter)
    rows = _rows(path, columns, parse_label, labelled, may_lack_label, split)
    return stored(rows, memory_mb)


def read_jsonl(
    path: str | Path,
    columns: Mapping[str, str],
    parse_label: ParseLabel | None = None,
    labelled: bool = True,
    may_lack_label: bool = False,
    memory_mb: float = math.inf,
) -> Sequence[Record]:
    """Reads JSON lines (one object a line) or a JSON array of objects; `columns` names the fields.

    An integer as label of a classification, or as group, becomes its decimal digits, as in a table.

    Raises:
        DataError: not UTF-8 text; a line is not one JSON object; a duplicate key; NaN or
            Infinity; a field is missing or of the wrong type; an empty text, label or group; no
            example.
    """
    rows = ((where, json_object(value, where)) for where, value in json_values(path))

    def parsed(fields: dict[str, object], where: str) -> Record:
        for name in _wanted(columns, labelled and not may_lack_label):
            if name not in fields:
                raise DataError(
                    f"{where}: expected a field {name!r}, got {_listed(fields)}; "
                    "add it, or name the right one in `columns`"
                )
        return _record(fields, columns, parse_label, labelled, where, may_lack_label)

    return stored(every_row(path, rows, parsed), memory_mb)


def written_text(value: object, where: str) -> str:
    """A target that is written, unchanged.

    Raises:
        DataError: it is empty, or no text.
    """
    if not isinstance(value, str):
        raise DataError(f"{where}: expected a text as label, got {_shown(value)}")
    return check_text(value, where, "label")


def text_label(value: object, where: str) -> str:
    """A label as text, unchanged.

    Raises:
        DataError: it is empty, has white space around it, or is neither text nor an integer.
    """
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str):
        raise DataError(f"{where}: expected a text as label, got {_shown(value)}")
    if any(character in value for character in "\t\n\r"):
        raise DataError(f"{where}: expected a label on one line without tabs, got {_shown(value)}")
    return check_outer_space(check_text(value, where, "label"), where)


def number_label(value: object, where: str) -> float:
    """A regression target.

    Raises:
        DataError: it is not a finite number in float32.
    """
    if isinstance(value, str):
        if not _NUMBER.fullmatch(value):
            raise DataError(f"{where}: expected a finite number as label, got {value!r}")
        value = float(value)
    return check_score(value, where)


def named_label(names: Mapping[str, str]) -> ParseLabel:
    """A parser of labels that maps the values in a file to label names."""

    def parse(value: object, where: str) -> str:
        if value not in names:
            raise DataError(f"{where}: expected as label one of {_listed(names)}, got {value!r}")
        return names[value]

    return parse


def check_columns(row: list[str], expected: int, where: str) -> list[str]:
    """Returns `row` if it has the expected number of columns.

    Raises:
        DataError: it has another number.
    """
    if len(row) != expected:
        raise DataError(f"{where}: expected {expected} columns, got {len(row)}")
    return row


def _rows(
    path: str | Path,
    columns: Mapping[str, str],
    parse_label: ParseLabel | None,
    labelled: bool,
    may_lack_label: bool,
    split: Callable[[str | Path, Iterable[str]], Iterator[tuple[int, list[str]]]],
) -> Iterator[Record]:
    lines = some_lines(path, lines_of(path))
    first = next(lines)
    rows = split(path, itertools.chain([first], some_lines(path, lines)))
    _, header = next(rows)
    check_header(header, _wanted(columns, labelled), f"{path}:1")

    def parsed(row: list[str], where: str) -> Record:
        if not row:
            raise DataError(f"{where}: expected an example, got an empty line; remove it")
        check_columns(row, len(header), where)
        fields = dict(zip(header, row, strict=True))
        return _record(fields, columns, parse_label, labelled, where, may_lack_label)

    return every_row(path, ((f"{path}:{number}", row) for number, row in rows), parsed)


def check_header(header: list[str], wanted: list[str], where: str) -> None:
    """Checks that a table has each wanted column, once.

    Raises:
        DataError: it has not.
    """
    for name in wanted:
        if header.count(name) != 1:
            got = "two of that name" if name in header else f"the columns {_listed(header)}"
            raise DataError(
                f"{where}: expected one column {name!r}, got {got}; "
                "the first line names the columns, and `columns` says which to read"
                f"{_delimiter_hint(header)}"
            )


def _delimiter_hint(header: list[str]) -> str:
    """A hint at another delimiter for a header of one column."""
    signs = [sign for sign in DELIMITERS if len(header) == 1 and sign in header[0]]
    if not signs:
        return ""
    return f"; it looks separated by {signs[0]!r}: set data.format and data.delimiter accordingly"


def tab_rows(path: str | Path, lines: Iterable[str]) -> Iterator[tuple[int, list[str]]]:
    """Number and columns of each line; an empty line has none."""
    for number, line in enumerate(lines, start=1):
        yield number, line.split("\t") if line else []


def delimited_rows(
    delimiter: str, path: str | Path, lines: Iterable[str]
) -> Iterator[tuple[int, list[str]]]:
    """As `tab_rows`, with the number of the line on which each row begins.

    Raises:
        DataError: quotes are not as in RFC 4180.
    """
    rows = csv.reader((f"{line}\n" for line in lines), delimiter=delimiter, strict=True)
    start = 1
    while True:
        try:
            row = next(rows, None)
        except csv.Error as error:
            problem = "a quote is never closed" if "end of data" in str(error) else str(error)
            raise DataError(
                f"{path}:{start}: expected values separated by {delimiter!r}, got an example that "
                f'begins here and is none ({problem}); a `"` inside a quoted field is doubled'
            ) from None
        if row is None:
            return
        yield start, row
        start = rows.line_num + 1


def _wanted(columns: Mapping[str, str], labelled: bool) -> list[str]:
    return [name for key, name in columns.items() if labelled or key not in _OF_LABELLED]


def _record(
    fields: Mapping[str, object],
    columns: Mapping[str, str],
    parse_label: ParseLabel | None,
    labelled: bool,
    where: str,
    may_lack_label: bool,
) -> Record:
    texts = {
        key: _text(fields[columns[key]], where, columns[key])
        for key in ("text_a", "text_b", "genre")
        if key in columns
    }
    label = group = None
    if labelled and "label" in columns:
        value, parse = fields.get(columns["label"]), parse_label or text_label
        label = _label(value, parse, where, columns["label"], may_lack_label)
    if labelled and "group" in columns:
        group = check_group(fields[columns["group"]], where, columns["group"])
    return Record(**texts, label=label, where=where, group=group)


def _label(
    value: object, parse: ParseLabel, where: str, column: str, may_lack_label: bool
) -> str | float | tuple[str, ...] | None:
    """A label; None where there is none and that is allowed (an empty set of labels is one)."""
    try:
        return parse(value, where)
    except DataError as error:
        if is_missing(value):
            if may_lack_label:
                return None
            raise DataError(
                f"{where}: expected a label in column {column!r}, got none; fill it in, remove the "
                "example, or set data.skip_unlabelled: true"
            ) from None
        if column == "label":
            raise
        fault = str(error).removeprefix(f"{where}: ")
        raise DataError(f"{where}: column {column!r}: {fault}") from None


def _text(value: object, where: str, column: str) -> str:
    if not isinstance(value, str):
        raise DataError(f"{where}: expected a text in column {column!r}, got {_shown(value)}")
    return check_text(value, where, column)


def _listed(names: object) -> str:
    return ", ".join(map(repr, names)) or "none"


def _shown(value: object) -> str:
    return f"{type(value).__name__} {str(value)[:40]}"
