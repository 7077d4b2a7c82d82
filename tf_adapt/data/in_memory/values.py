"""Columns in Python (lists, arrays, Series, tensors) as lists of Python objects."""

from typing import TYPE_CHECKING, Any

import numpy as np

from tf_adapt.errors import DataError

if TYPE_CHECKING:  # it imports TensorFlow
    from tf_adapt.tasks.task import Task


def is_array(value: Any) -> bool:
    """Whether it is an array, a Series or a tensor of at least one axis."""
    return hasattr(value, "dtype") and (rank(value) or 0) > 0


def rank(value: Any) -> int | None:
    """Number of axes; None if a dataset's spec does not define it."""
    shape = getattr(value, "shape", ())
    return shape.rank if hasattr(shape, "rank") else len(shape)


def values(column: Any, name: Any, task: "Task | None" = None) -> list:
    """The values of a column as Python objects.

    Raises:
        DataError: it is no column, or bytes in it are not UTF-8.
    """
    if isinstance(column, (list, tuple)):
        plain = column
    elif hasattr(column, "to_list"):  # a Series, or a ragged tensor
        plain = column.to_list()
    elif is_array(column):
        plain = np.asarray(column).tolist()
    else:
        raise DataError(
            f"data: expected as column {name!r} a list, an array, a Series or a tensor, got "
            f"{type(column).__name__} {repr(column)[:40]}; a single example goes into a list, too"
        )
    return [_decoded(value, name, number) for number, value in enumerate(plain, 1)]


def _decoded(value: Any, name: Any, number: int) -> Any:
    """A value with bytes decoded as UTF-8, also inside lists."""
    if isinstance(value, str):
        return value
    if isinstance(value, bytes):
        try:
            return value.decode("utf-8")
        except UnicodeDecodeError as error:
            raise DataError(
                f"example {number}: expected UTF-8 in column {name!r}, got {error}; decode it, "
                "then give str"
            ) from None
    if hasattr(value, "numpy"):  # a tensor
        return _decoded(value.numpy(), name, number)
    if isinstance(value, (list, tuple)) or is_array(value):
        return [_decoded(item, name, number) for item in value]
    return value


def _is_matrix(column: Any) -> bool:
    """Whether it is an array of numbers, not of names; lists of ids are not arrays."""
    if not is_array(column) or hasattr(column, "to_list"):
        return False
    return rank(column) == 2 and np.asarray(column).dtype.kind in "biuf"


def chosen_labels(column: Any, name: Any, task: "Task") -> list:
    """Lists of label names, which may be the rows of a multi-hot matrix.

    Raises:
        DataError: as `values`; the matrix has other values, or another number of columns.
    """
    if not _is_matrix(column):
        return values(column, name)
    matrix = np.asarray(column)
    fits = matrix.shape[1] == len(task.labels) and np.isin(matrix, (0, 1)).all()
    if matrix.size and not fits:
        raise DataError(
            f"data: expected as labels lists of names, or a matrix of 0 and 1 with "
            f"{len(task.labels)} columns, one for each label, got one of shape "
            f"{list(matrix.shape)} with values from {matrix.min():g} to {matrix.max():g}"
        )
    return [[task.labels[index] for index in np.flatnonzero(row)] for row in matrix]
