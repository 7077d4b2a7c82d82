"""Whether the LSTMs of a head fit into memory, known before anything is allocated."""

import contextlib
import contextvars
from collections.abc import Iterator, Sequence
from typing import Any

import keras

from hub_modules.storage.machine import free_memory
from tf_adapt.errors import ConfigError
from tf_adapt.heads.names import LSTM_HEADS
from tf_adapt.heads.table import HEADS

WIDEST_PUBLISHED = 300
# Bytes of each weight in training: itself, its gradient and Adam's two moments, in float32.
BYTES_PER_WEIGHT = 16
_most: contextvars.ContextVar[int | None] = contextvars.ContextVar("most_weights", default=None)


@contextlib.contextmanager
def at_most_weights(number: int) -> Iterator[None]:
    """Within it, heads have at most so many weights, as those of a file that will be assigned."""
    token = _most.set(number)
    try:
        yield
    finally:
        _most.reset(token)


def is_wide(head: keras.layers.Layer) -> bool:
    """Whether a head has LSTMs that are wider than any published one's."""
    with_lstms = {HEADS[name].layer for name in LSTM_HEADS}
    return type(head) in with_lstms and head.units > WIDEST_PUBLISHED


def check_size(head: keras.layers.Layer, encoded: Sequence[dict], inputs: Any) -> None:
    """Checks that a head with LSTMs fits into memory; it is not built for that.

    The number of weights is a polynomial of degree two in the width of the LSTMs, known from heads
    of the widths 1, 2 and 3.

    Args:
        encoded, inputs: what the head will be called with.

    Raises:
        ConfigError: it does not fit.
    """
    units = head.units
    weights, most = weights_of_width(units, head, encoded, inputs), _most.get()
    if most is not None:
        _check_weights(units, weights, most)
        return
    needed, free = weights * BYTES_PER_WEIGHT, free_memory()
    if free is not None and needed > free:
        raise ConfigError(
            f"head_units: expected a head that fits into the {free / 1e9:.1f} GB of free memory, "
            f"got {units:,}, whose head has {weights:,} weights and needs about "
            f"{needed / 1e9:,.1f} GB in training; take fewer (published ones: 200 to 300)"
        )


def _check_weights(units: int, weights: int, most: int) -> None:
    if weights > most:
        raise ConfigError(
            f"head_units: expected a head of at most the {most:,} weights that the run has, got "
            f"{units:,}, whose head has {weights:,}; the config was changed, make the run again"
        )


def weights_of_width(
    units: int, head: keras.layers.Layer, encoded: Sequence[dict], inputs: Any
) -> int:
    """The number of weights that a head like this one has with LSTMs of another width."""
    counts = []
    for width in (1, 2, 3):
        small = type(head).from_config(head.get_config() | {"units": width})
        small(encoded, inputs)
        counts.append(small.count_params())
    first, second, third = counts
    curve = third - 2 * second + first
    return first + (units - 1) * (second - first) + (units - 1) * (units - 2) // 2 * curve
