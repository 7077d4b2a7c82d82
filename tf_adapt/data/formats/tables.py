"""A user's own tables: tab-separated values, comma-separated values and JSON lines.

In all three a line is one example, so no quote can join two of them. `columns` maps `text_a`,
`text_b`, `label`, `genre` and `group` (all but the first optional) to the names in the file.
"""

import csv
import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from tf_adapt.data.formats.records import Record, check_group, check_score, check_text
from tf_adapt.data.formats.text import is_blank, no_examples, read_lines
from tf_adapt.errors import DataError

ParseLabel = Callable[[object, str], str | float]
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
# What is there to train and to score with: a file to be predicted need not have it.
_OF_LABELLED = ("label", "group")


def read_tsv(
    path: str | Path,
    columns: Mapping[str, str],
    parse_label: ParseLabel | None = None,
    labelled: bool = True,
) -> list[Record]:
    """Reads tab-separated values with a header; there is no quoting, a `"` is a character.

    Args:
        path: file in UTF-8.
        columns: names of the columns, see the top of this file.
        parse_label: `text_label` (default), `number_label` or `named_label(…)`.
        labelled: False leaves every label and group None; the file need not have those columns.

    Raises:
        DataError: not UTF-8 text; a column is missing, doubled, or a line has too many or too
            few; an empty text, label or group; no example.
    """
    return _read_table(path, columns, parse_label, labelled, _split_tabs)


def read_csv(
    path: str | Path,
    columns: Mapping[str, str],
    parse_label: ParseLabel | None = None,
    labelled: bool = True,
) -> list[Record]:
    """Reads comma-separated values with a header, fields quoted as in RFC 4180.

    Unlike there, a quoted field must end on its line: a forgotten quote would otherwise join the
    examples up to the next one. Texts with line breaks belong into JSON lines.

    Args and Raises as in `read_tsv`; a quote that is not closed is a DataError too.
    """
    return _read_table(path, columns, parse_label, labelled, _split_commas)


def read_jsonl(
    path: str | Path,
    columns: Mapping[str, str],
    parse_label: ParseLabel | None = None,
    labelled: bool = True,
) -> list[Record]:
    """Reads JSON lines: one object a line, its fields named by `columns`.

    An integer as label of a classification, or as group, is taken as its decimal digits, as in a
    table.

    Raises:
        DataError: not UTF-8 text; a line is not one JSON object; a key is written twice; NaN or
            Infinity; a field is missing or of the wrong type; an empty text, label or group; no
            example.
    """
    records = []
    for number, line in _example_lines(path, read_lines(path), start=1):
        where = f"{path}:{number}"
        fields = _parse_json(line, where)
        for name in _wanted(columns, labelled):
            if name not in fields:
                raise DataError(
                    f"{where}: expected a field {name!r}, got {_listed(fields)}; "
                    "add it, or name the right one in `columns`"
                )
        records.append(_record(fields, columns, parse_label, labelled, where))
    return records


def text_label(value: object, where: str) -> str:
    """A label as it is written.

    Raises:
        DataError: it is empty, or neither text nor an integer.
    """
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str):
        raise DataError(f"{where}: expected a text as label, got {_shown(value)}")
    if any(character in value for character in "\t\n\r"):
        raise DataError(f"{where}: expected a label on one line without tabs, got {_shown(value)}")
    return check_text(value, where, "label")


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
    """A parser of labels that are written in one way in the file and named in another."""

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


def _read_table(
    path: str | Path,
    columns: Mapping[str, str],
    parse_label: ParseLabel | None,
    labelled: bool,
    split: Callable[[str, str], list[str]],
) -> list[Record]:
    lines = read_lines(path)
    if not lines or all(map(is_blank, lines)):
        raise no_examples(path)
    header = split(lines[0], f"{path}:1")
    _check_header(header, _wanted(columns, labelled), f"{path}:1")
    records = []
    for number, line in _example_lines(path, lines[1:], start=2):
        where = f"{path}:{number}"
        row = check_columns(split(line, where), len(header), where)
        fields = dict(zip(header, row, strict=True))
        records.append(_record(fields, columns, parse_label, labelled, where))
    return records


def _example_lines(path: str | Path, lines: list[str], start: int) -> Iterator[tuple[int, str]]:
    """Numbered lines; an empty one is refused, so that nobody counts examples wrongly."""
    if all(map(is_blank, lines)):
        raise no_examples(path)
    for number, line in enumerate(lines, start):
        if line == "":
            raise DataError(f"{path}:{number}: expected an example, got an empty line; remove it")
        yield number, line


def _check_header(header: list[str], wanted: list[str], where: str) -> None:
    for name in wanted:
        if header.count(name) != 1:
            got = "two of that name" if name in header else f"the columns {_listed(header)}"
            raise DataError(
                f"{where}: expected one column {name!r}, got {got}; "
                "the first line names the columns, and `columns` says which to read"
            )


def _split_tabs(line: str, where: str) -> list[str]:
    return line.split("\t")


def _split_commas(line: str, where: str) -> list[str]:
    try:
        return next(csv.reader([line], strict=True))
    except csv.Error as error:
        raise DataError(
            f"{where}: expected comma-separated values, got a line that is none ({error}); "
            'a `"` inside a field is doubled, and a field ends on its line'
        ) from None


def _parse_json(line: str, where: str) -> dict[str, object]:
    try:
        value = json.loads(line, object_pairs_hook=_unique_keys, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise DataError(
            f"{where}: expected one JSON object, got a line that is none ({error})"
        ) from None
    if not isinstance(value, dict):
        raise DataError(f"{where}: expected one JSON object, got {_shown(value)}")
    return value


def _unique_keys(pairs: list[tuple[str, object]]) -> dict[str, object]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise ValueError("a key is written twice")
    return fields


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


def _wanted(columns: Mapping[str, str], labelled: bool) -> list[str]:
    return [name for key, name in columns.items() if labelled or key not in _OF_LABELLED]


def _record(
    fields: Mapping[str, object],
    columns: Mapping[str, str],
    parse_label: ParseLabel | None,
    labelled: bool,
    where: str,
) -> Record:
    texts = {
        key: _text(fields[columns[key]], where, columns[key])
        for key in ("text_a", "text_b", "genre")
        if key in columns
    }
    label = group = None
    if labelled and "label" in columns:
        label = (parse_label or text_label)(fields[columns["label"]], where)
    if labelled and "group" in columns:
        group = check_group(fields[columns["group"]], where, columns["group"])
    return Record(**texts, label=label, where=where, group=group)


def _text(value: object, where: str, column: str) -> str:
    if not isinstance(value, str):
        raise DataError(f"{where}: expected a text in column {column!r}, got {_shown(value)}")
    return check_text(value, where, column)


def _listed(names: object) -> str:
    return ", ".join(map(repr, names)) or "none"


def _shown(value: object) -> str:
    return f"{type(value).__name__} {str(value)[:40]}"
