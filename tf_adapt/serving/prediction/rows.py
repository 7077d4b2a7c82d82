"""Predictions for the rows of a file, some of which are empty. Imports no TensorFlow."""

import logging
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from tf_adapt.errors import ArtifactError
from tf_adapt.printing.words import counted

# Of empty rows, in a warning.
_MOST_SHOWN = 5
_AT_ONCE = 16_384
_log = logging.getLogger(__name__)


def predictions_of_rows(
    records: Sequence[Any], predict: Callable[[list], list], together: bool = False
) -> Iterator:
    """The prediction for each example; None for an empty one, of which a warning is logged.

    Args:
        predict: examples with a text → their predictions.
        together: all examples at once, because a prediction depends on others.
    """
    empty = [record.where for record in records if record.is_empty]
    if empty:
        more = ", …" if len(empty) > _MOST_SHOWN else ""
        _log.warning(
            "%s without a text (%s%s): the answers are empty",
            counted(len(empty), "example"),
            ", ".join(empty[:_MOST_SHOWN]),
            more,
        )
    size = max(1, len(records)) if together else _AT_ONCE
    for start in range(0, len(records), size):
        some = list(records[start : start + size])
        filled = [record for record in some if not record.is_empty]
        answers = iter(predict(filled) if filled else [])
        yield from (None if record.is_empty else next(answers) for record in some)


def check_numbers(answer: dict[str, np.ndarray]) -> None:
    """Checks that scores are numbers: the largest of others would be that of the first label.

    Raises:
        ArtifactError: one is none.
    """
    for name, values in answer.items():
        if np.issubdtype(values.dtype, np.floating) and np.isnan(values).any():
            raise ArtifactError(
                f"the model's answers: expected numbers, got {name} that are none (NaN); its "
                "weights are damaged, or its training has diverged: train it again"
            )
