"""The columns of texts that a signature takes, checked as a SavedModel does. No TensorFlow."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tf_adapt.errors import DataError

# A value a row for each input.
Columns = dict[str, Sequence[Any]]
_SHAPES = {1: "[batch] string", 2: "[batch, words] string"}


def checked(columns: Mapping[str, Sequence[Any]], ranks: Mapping[str, int]) -> Columns:
    """The columns of a signature, in its order.

    Args:
        ranks: of each input: 1 for a text a row, 2 for a list of words.

    Raises:
        DataError: one is missing or unknown, has no row or another number of them, or holds
            something else than UTF-8 without NUL.
    """
    if not isinstance(columns, Mapping) or columns.keys() != ranks.keys():
        got = ", ".join(map(str, columns)) if isinstance(columns, Mapping) else "no dict"
        raise DataError(f"columns: expected {', '.join(ranks)}, got {got or 'none'}")
    for name, rank in ranks.items():
        _check_column(name, columns[name], rank)
    first, *others = ranks
    for name in others:
        if len(columns[name]) != len(columns[first]):
            raise DataError(
                f"{name}: expected {len(columns[first])} rows, as many as {first} has, got "
                f"{len(columns[name])}"
            )
    return {name: columns[name] for name in ranks}


def _check_column(name: str, values: Any, rank: int) -> None:
    if not _is_list(values):
        raise DataError(f"{name}: expected {_SHAPES[rank]}, got {type(values).__name__}")
    if not len(values):
        raise DataError(f"{name}: expected {_SHAPES[rank]} of one row or more, got none")
    for number, value in enumerate(values):
        texts = [value] if rank == 1 else value
        if not (_is_list(texts) and all(isinstance(text, str) for text in texts)):
            raise DataError(
                f"{name}: expected {_SHAPES[rank]}, got {type(value).__name__} at [{number}] "
                "(counted from 0)" + (" or in it" if _is_list(texts) and rank == 2 else "")
            )
        if not all(map(_is_text, texts)):
            raise DataError(
                f"{name}: expected UTF-8 without NUL, got other bytes at [{number}] (counted "
                "from 0)"
            )


def _is_list(values: Any) -> bool:
    return isinstance(values, (Sequence, np.ndarray)) and not isinstance(values, (str, bytes))


def _is_text(text: str) -> bool:
    """Whether it has neither NUL nor half of a surrogate pair."""
    if "\0" in text:
        return False
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
