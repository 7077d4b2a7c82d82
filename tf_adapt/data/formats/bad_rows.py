"""The wrong rows of a file, reported together."""

import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from tf_adapt.errors import DataError
from tf_adapt.printing.words import counted

# Of one fault.
_MOST_PLACES = 10
_MOST_FAULTS = 5

Value = TypeVar("Value")


def every_row(
    path: str | os.PathLike,
    rows: Iterable[tuple[str, Any]],
    parse: Callable[[Any, str], Value],
) -> Iterator[Value]:
    """`parse(row, where)` of each row that it takes.

    Args:
        rows: `(where, row)`; `where` begins with the path and a colon.

    Raises:
        DataError: at the end: that of the one row that `parse` refuses; of several one with the
            places of all, in groups of one fault.
    """
    faults: dict[str, list[str]] = {}
    for where, row in rows:
        try:
            value = parse(row, where)
        except DataError as error:
            message = str(error)
            own = message.startswith(f"{where}: ")
            fault = message.removeprefix(f"{where}: ") if own else message
            faults.setdefault(fault, []).append(where.removeprefix(f"{path}:").strip())
        else:
            yield value
    if not faults:
        return
    total = sum(map(len, faults.values()))
    if total == 1:
        ((fault, (place,)),) = faults.items()
        raise DataError(fault if str(path) in fault else f"{_where(path, place)}: {fault}")
    groups = [f"{_places(places)}: {fault}" for fault, places in faults.items()]
    more = len(groups) - _MOST_FAULTS
    groups = groups[:_MOST_FAULTS] + ([f"{counted(more, 'other fault')}"] if more > 0 else [])
    raise DataError(f"{path}: {total} rows are wrong: {' | '.join(groups)}")


def _where(path: str | os.PathLike, place: str) -> str:
    return f"{path}:{place}" if place.isdecimal() else f"{path}: {place}"


def _places(places: list[str]) -> str:
    shown = ", ".join(places[:_MOST_PLACES])
    more = f", … ({len(places)} in all)" if len(places) > _MOST_PLACES else ""
    numbered = "line" if len(places) == 1 else "lines"
    return f"{numbered} {shown}{more}" if places[0].isdecimal() else f"{shown}{more}"
