"""Many comparisons of a row, by seed; the rows of a case as plain values."""

import zlib
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import numpy as np

from benchmarks.verdict_errors.columns import Share

SEED = 2019


def simulated_row(
    name: str, case: ModuleType, row: dict[str, Any], count: int, done: Callable[[], None]
) -> dict[str, Any]:
    """The summaries of a row's columns over `count` comparisons.

    Comparison number n of a row is a function of the case's name, the row and n alone: the same in
    a run of this case only, with another number of comparisons, on another day.
    """
    key = zlib.crc32(f"{name} {sorted(row.items())}".encode())
    values: dict[str, list] = {column: [] for column in case.COLUMNS}
    for number in range(count):
        found = case.simulated(np.random.default_rng([SEED, key, number]), **row)
        for column, value in found.items():
            if value is not None:
                values[column].append(value)
        done()
    summaries = {
        column: case.COLUMNS[column].summary(found) for column, found in values.items() if found
    }
    return {"settings": row, "comparisons": count, "columns": summaries}


def above_goal(case: ModuleType, rows: Sequence[dict[str, Any]]) -> list[str]:
    """`SETTINGS: COLUMN RATE`, each share that is above what its column allows."""
    return [
        f"{row['settings']}: {column} {case.COLUMNS[column].text(found)}"
        for row in rows
        for column, found in row["columns"].items()
        if isinstance(case.COLUMNS[column], Share) and case.COLUMNS[column].is_above(found)
    ]
