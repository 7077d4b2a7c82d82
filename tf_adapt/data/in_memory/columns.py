"""Columns in Python (a dict of them, `(x, y)`, arrays, a `tf.data.Dataset`) as rows.

Tensors and datasets are recognised by their attributes: nothing here imports TensorFlow.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from tf_adapt.data.in_memory.kinds import KINDS
from tf_adapt.data.in_memory.values import is_array, rank, values
from tf_adapt.errors import DataError

if TYPE_CHECKING:  # it imports TensorFlow
    from tf_adapt.tasks.task import Task

_READ_AT_ONCE = 1024
_INFINITE = -1  # as `tf.data.INFINITE_CARDINALITY`


def rows_of(data: Any, task: "Task") -> Iterable:
    """The rows of data in any form; rows of columns are dicts.

    Raises:
        DataError: see `tf_adapt.data.in_memory.records.in_memory_records`.
    """
    if hasattr(data, "element_spec") and hasattr(data, "cardinality"):
        return _rows(_columns_of_dataset(data, task), task)
    if hasattr(data, "to_dict") and hasattr(data, "columns"):  # a pandas frame
        return data.to_dict("records")
    if isinstance(data, Mapping) or _is_x_and_y(data):
        return _rows(_named(data, task, _is_column), task)
    if is_array(data):
        return values(data, KINDS[task.kind].columns[0])
    is_scalar = isinstance(data, (str, bytes)) or hasattr(data, "dtype")
    if is_scalar or not isinstance(data, Iterable):
        raise DataError(
            "data: expected a list of examples, a dict of columns, (x, y), a pandas frame or a "
            f"tf.data.Dataset, got {type(data).__name__}"
        )
    return data


def _is_column(value: Any) -> bool:
    return isinstance(value, (list, tuple)) or is_array(value)


def _is_x_and_y(data: Any) -> bool:
    if not isinstance(data, tuple) or len(data) != 2:
        return False
    return (isinstance(data[0], Mapping) or _is_column(data[0])) and _is_column(data[1])


def _named(data: Any, task: "Task", is_leaf: Callable[[Any], bool]) -> dict[str, Any]:
    """The columns, or the parts of a dataset's elements, by name.

    Args:
        data: a dict; `(x, y)`; or `x` alone, which for pairs is a tuple, too.
        is_leaf: whether a value is a column (or a tensor of a dataset's element).
    """
    if isinstance(data, Mapping):
        return dict(data)
    row = KINDS[task.kind]
    if is_leaf(data) and not isinstance(data, tuple):
        return {row.columns[0]: data}
    if not (isinstance(data, tuple) and len(data) == 2):
        raise _wrong_form(task, f"a {type(data).__name__}")
    x, y = data
    if len(row.columns) == 2 and _are_texts(x) and is_leaf(y):
        return dict(zip(row.columns, data, strict=True))
    columns = dict(x) if isinstance(x, Mapping) else _columns_of_x(x, task, is_leaf)
    if row.target in columns:
        raise DataError(f"data: expected {row.target!r} in x or as y, got both; leave one out")
    return columns | {row.target: y}


def _columns_of_x(x: Any, task: "Task", is_leaf: Callable[[Any], bool]) -> dict[str, Any]:
    names = KINDS[task.kind].columns
    if len(names) == 1:
        return {names[0]: x}
    if isinstance(x, (list, tuple)) and len(x) == len(names) and all(map(is_leaf, x)):
        return dict(zip(names, x, strict=True))
    raise _wrong_form(task, "an x that is not two columns")


def _are_texts(column: Any) -> bool:
    """Whether it holds texts, not columns of texts: distinguishes `x` of pairs from `(x, y)`."""
    if isinstance(column, Mapping):
        return False
    if isinstance(column, (list, tuple)):
        return bool(column) and isinstance(column[0], (str, bytes))
    return rank(column) != 2


def _rows(columns: Mapping[Any, Any], task: "Task") -> list[dict]:
    row = KINDS[task.kind]
    read = {
        name: (row.labels if name == row.target else values)(column, name, task)
        for name, column in columns.items()
    }
    lengths = {name: len(values_of_column) for name, values_of_column in read.items()}
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"{name!r} with {length}" for name, length in lengths.items())
        raise DataError(
            f"data: expected columns of one length, got {listed}; give one value for each example"
        )
    return [dict(zip(read, example, strict=True)) for example in zip(*read.values(), strict=True)]


def _columns_of_dataset(dataset: Any, task: "Task") -> dict[str, Any]:
    """All elements of a `tf.data.Dataset`, read once in its order, as columns."""
    if KINDS[task.kind].no_dataset:
        raise DataError(KINDS[task.kind].no_dataset)
    if int(dataset.cardinality()) == _INFINITE:
        raise DataError(
            "data: expected a tf.data.Dataset that ends, got an infinite one; take as many "
            "elements as you want with `.take(n)`, or leave out `.repeat()`"
        )
    specs = _named(dataset.element_spec, task, _is_tensor)
    is_batched = _is_batched(specs)
    if not is_batched and all(spec.shape.is_fully_defined() for spec in specs.values()):
        dataset, is_batched = dataset.batch(_READ_AT_ONCE), True  # single elements are slow
    parts: dict[str, list] = {name: [] for name in specs}
    for element in dataset:
        for name, tensor in _named(element, task, _is_tensor).items():
            parts[name].append(tensor.to_list() if hasattr(tensor, "to_list") else tensor.numpy())
    return {name: _joined(tensors, is_batched) for name, tensors in parts.items()}


def _is_tensor(part: Any) -> bool:
    """Whether a part of an element, or of its spec, is a tensor, not a structure of them."""
    return hasattr(part, "dtype") and hasattr(part, "shape")


def _is_batched(specs: Mapping[str, Any]) -> bool:
    """Whether the texts of an element have a batch axis."""
    ranks = set()
    for name, spec in specs.items():
        if not type(spec).__name__.startswith(("TensorSpec", "RaggedTensorSpec")):
            raise DataError(
                f"data: expected as {name!r} in the tf.data.Dataset a tensor, got {spec}"
            )
        if name in ("text", "text_a", "text_b"):
            if spec.dtype.name != "string" or rank(spec) not in (0, 1):
                raise DataError(
                    f"data: expected as {name!r} in the tf.data.Dataset a string, or a batch of "
                    f"strings [batch], got {spec}; map it to texts as they are written"
                )
            ranks.add(rank(spec))
    if len(ranks) != 1:
        raise DataError(
            "data: expected elements of the tf.data.Dataset with text, or text_a and text_b, all "
            f"batched or none, got {', '.join(map(repr, specs))}; map it to them"
        )
    return ranks == {1}


def _joined(parts: list, is_batched: bool) -> Any:
    """One column from the parts of all elements; a matrix of numbers stays an array."""
    is_matrix = bool(parts) and getattr(parts[0], "ndim", 0) == 1 + is_batched
    if is_matrix and parts[0].dtype.kind in "biuf":
        return np.concatenate(parts) if is_batched else np.stack(parts)
    parts = [part.tolist() if hasattr(part, "tolist") else part for part in parts]
    return [value for part in parts for value in part] if is_batched else parts


def _wrong_form(task: "Task", got: str) -> DataError:
    expected = KINDS[task.kind].x_and_y
    return DataError(
        f"data: expected columns as {expected}, or a dict of columns, for {task.kind}, got {got}; "
        "rows go into a list"
    )
