"""Foreign names ↔ ours: a name table is expanded, checked, and applied in both directions.

A table is a list of `(foreign name, our name, step)`, with fields such as `{layer}` in the names;
a step is a named, reversible change of layout.
"""

import itertools
import math
import string
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hub_modules.errors import ArtifactError

Shape = tuple[int, ...]
Table = list[tuple[str, str, str]]


class Step(NamedTuple):
    """A change of layout: an optional transposition, then a reshape."""

    foreign_shape: Callable[[Shape, int], Shape]  # (our shape, attention heads) → theirs
    transposed: bool = False


STEPS = {
    "same": Step(lambda shape, heads: shape),
    "transpose": Step(lambda shape, heads: shape[::-1], transposed=True),
    # [..., heads * head_width] ↔ [..., heads, head_width]
    "split_columns": Step(lambda shape, heads: (*shape[:-1], heads, shape[-1] // heads)),
    # [heads * head_width, width] ↔ [heads, head_width, width]
    "split_rows": Step(lambda shape, heads: (heads, shape[0] // heads, *shape[1:])),
    # [in, heads, head_width] ↔ [heads * head_width, in], [heads, head_width] ↔ one axis
    "join_columns": Step(lambda shape, heads: (math.prod(shape[1:]), shape[0]), transposed=True),
    "join_bias": Step(lambda shape, heads: (math.prod(shape),)),
    # [heads, head_width, out] ↔ [out, heads * head_width]
    "join_rows": Step(lambda shape, heads: (shape[-1], math.prod(shape[:-1])), transposed=True),
    # [width, in, out] ↔ [1, width, in, out]: a Conv1D kernel stored as that of a Conv2D
    "leading_one": Step(lambda shape, heads: (1, *shape)),
}


@dataclass(frozen=True, slots=True)
class Row:
    """One weight: its name and shape on both sides, and the step between them."""

    foreign: str
    ours: str
    step: str
    foreign_shape: Shape
    shape: Shape


def expand(
    table: Table, shapes: Mapping[str, Shape], counts: Mapping[str, int], heads: int = 1
) -> list[Row]:
    """Fills in a table's fields and shapes; drops rows for weights that the encoder lacks.

    Args:
        shapes: our name → shape, of every weight of the encoder.
        counts: field → number, as `{"layer": 12}`.
        heads: attention heads, where a step splits by them.
    """
    rows = []
    for foreign, ours, step in table:
        fields = [field for _, field, _, _ in string.Formatter().parse(ours) if field]
        for numbers in itertools.product(*(range(counts[field]) for field in fields)):
            values = dict(zip(fields, numbers, strict=True))
            name = ours.format(**values)
            if name in shapes:
                shape = shapes[name]
                foreign_shape = STEPS[step].foreign_shape(shape, heads)
                rows.append(Row(foreign.format(**values), name, step, foreign_shape, shape))
    return rows


def check(rows: list[Row], shapes: Mapping[str, Shape], where: str) -> None:
    """Compares names and shapes with the table, before any array is read.

    Args:
        shapes: foreign name → shape, as declared by the file.

    Raises:
        ArtifactError: a name is missing or unknown, or a shape is not the expected one.
    """
    missing = sorted({row.foreign for row in rows} - set(shapes))
    unknown = sorted(set(shapes) - {row.foreign for row in rows})
    if missing:
        raise ArtifactError(
            f"{where}: expected {len(rows)} weights, {len(missing)} are missing: "
            f"{_some(missing)}; use the complete file that belongs to this configuration"
        )
    if unknown:
        raise ArtifactError(
            f"{where}: {len(unknown)} weights are unknown: {_some(unknown)}; expected only those "
            "of this configuration, so this may be another architecture"
        )
    for row in rows:
        if tuple(shapes[row.foreign]) != row.foreign_shape:
            raise ArtifactError(
                f"{where}: {row.foreign}: expected shape {row.foreign_shape}, got "
                f"{tuple(shapes[row.foreign])}; the configuration and the weights do not belong "
                "together: get both again"
            )


def to_ours(
    rows: list[Row], read: Callable[[str], np.ndarray], where: str
) -> dict[str, np.ndarray]:
    """Reads every weight and brings it into our layout, as float32.

    Args:
        read: foreign name → array.

    Raises:
        ArtifactError: an array is not floating point, or holds NaN or infinity.
    """
    return {row.ours: _to_ours(row, np.asarray(read(row.foreign)), where) for row in rows}


def to_foreign(rows: list[Row], weights: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The reverse of `to_ours`: foreign name → array in the foreign layout."""
    arrays = {}
    for row in rows:
        array = np.asarray(weights[row.ours])
        if STEPS[row.step].transposed:
            array = array.reshape(row.foreign_shape[::-1]).T
        arrays[row.foreign] = np.ascontiguousarray(array.reshape(row.foreign_shape))
    return arrays


def _to_ours(row: Row, array: np.ndarray, where: str) -> np.ndarray:
    array = as_float32(array, f"{where}: {row.foreign}")
    array = array.T if STEPS[row.step].transposed else array
    return np.ascontiguousarray(array.reshape(row.shape))


def as_float32(array: np.ndarray, where: str) -> np.ndarray:
    """An array of finite numbers as float32.

    Raises:
        ArtifactError: it is not floating point, or holds NaN or infinity.
    """
    # NumPy has bfloat16 only through ml_dtypes, without the kind "f".
    if array.dtype.kind != "f" and array.dtype.name != "bfloat16":
        raise ArtifactError(f"{where}: expected floating-point numbers, got {array.dtype}")
    with np.errstate(over="ignore"):
        array = array.astype(np.float32, copy=False)
    if not np.isfinite(array).all():
        raise ArtifactError(
            f"{where}: expected finite numbers, got NaN or infinity; the file is damaged or its "
            "training diverged: use another copy"
        )
    return array


def _some(names: list[str]) -> str:
    return ", ".join(names[:5]) + (", …" if len(names) > 5 else "")
