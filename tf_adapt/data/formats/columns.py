"""The columns of a table with all their values, for guesses of their roles."""

from pathlib import Path

from tf_adapt.data.formats.bad_rows import every_row
from tf_adapt.data.formats.json_fields import objects_of
from tf_adapt.data.formats.tables import (
    DELIMITERS,
    check_columns,
    delimited_rows,
    tab_rows,
)
from tf_adapt.data.formats.text import no_examples, read_lines
from tf_adapt.errors import DataError


def table_columns(path: str | Path, form: str, delimiter: str = ",") -> dict[str, list]:
    """Name → values, of a table in the format `tsv`, `csv` or `jsonl`.

    For JSON lines, the fields of all objects, None where one lacks it.

    Raises:
        DataError: as the readers, but values are not checked; two columns of one name.
    """
    if form == "jsonl":
        objects = objects_of(path)
        names = dict.fromkeys(name for fields in objects for name in fields)
        return {name: [fields.get(name) for fields in objects] for name in names}
    lines = read_lines(path)
    rows = delimited_rows(delimiter, path, lines) if form == "csv" else tab_rows(path, lines)
    _, header = next(rows, (1, []))
    numbered = ((f"{path}:{number}", row) for number, row in rows)
    checked = every_row(path, numbered, lambda row, where: check_columns(row, len(header), where))
    values = list(checked)
    if not values:
        raise no_examples(path)
    if len(set(header)) < len(header):
        raise DataError(f"{path}:1: expected a name of its own for each column, got {header}")
    return {name: [row[index] for row in values] for index, name in enumerate(header)}


def guessed_delimiter(path: str | Path) -> str:
    """The delimiter that splits the first line into most columns, a comma if none does.

    Raises:
        DataError: as `read_lines`.
    """
    lines = read_lines(path)

    def columns(delimiter: str) -> int:
        try:
            return len(next(delimited_rows(delimiter, path, lines), (1, []))[1])
        except DataError:  # quotes that do not fit this delimiter
            return 0

    return max(DELIMITERS, key=columns)
