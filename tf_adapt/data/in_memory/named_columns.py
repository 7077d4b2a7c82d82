"""Columns with names in Python: of a frame, a dict, or rows that are dicts."""

from collections.abc import Mapping
from typing import Any

from tf_adapt.errors import ConfigError, DataError


def column_names(data: Any) -> list | None:
    """The names of the columns; None without names."""
    if hasattr(data, "to_dict") and hasattr(data, "columns"):  # a pandas frame
        return list(data.columns)
    if isinstance(data, list) and data and all(isinstance(row, Mapping) for row in data):
        data = data[0]
    return list(data) if isinstance(data, Mapping) else None


def refuse_columns(name: str) -> ConfigError:
    """The error for `columns` of data whose columns have no names."""
    return ConfigError(
        f"columns: expected none for {name}, whose columns have no names; leave it out, or "
        "give a pandas frame, a dict of columns or rows that are dicts"
    )


def canonical(columns: Mapping[str, str]) -> dict[str, str]:
    """Role → column, `text` by its other name."""
    return {"text_a" if role == "text" else role: column for role, column in columns.items()}


def renamed(data: Any, roles: Mapping[str, str], name: str) -> Any:
    """The columns in use by role, or rows of these.

    Raises:
        DataError: one is missing.
    """
    names = column_names(data) or []
    lacking = [column for column in roles.values() if names.count(column) != 1]
    if lacking:
        raise DataError(
            f"{name}: expected one column {lacking[0]!r}, got the columns "
            f"{', '.join(map(repr, names))}; correct `columns`"
        )
    if not isinstance(data, list):
        return {role: data[column] for role, column in roles.items()}
    for number, row in enumerate(data, 1):
        absent = [column for column in roles.values() if column not in row]
        if absent:
            raise DataError(
                f"{name}: example {number}: expected a field {absent[0]!r}, got "
                f"{', '.join(map(repr, row))}; add it"
            )
    return [{role: row[column] for role, column in roles.items()} for row in data]
