"""Texts of any length for an encoder that reads a limited number of positions: in windows.

A packed row is cut into windows, each with the row's first and last token around it; the encoder
reads them as rows of their own; every token takes its states from the window in which it stands
nearest to the middle.
"""

from dataclasses import dataclass
from typing import NamedTuple

import tensorflow as tf

from tf_adapt.errors import ConfigError

POOLS = ("max", "mean")
# A bound on memory, not of the encoder; `max_length` may ask for more.
MOST_POSITIONS = 4096
_COLUMNS = ("input_word_ids", "input_type_ids")


@dataclass(frozen=True)
class LongTexts:
    """How long texts are read in windows.

    Args:
        window: positions of a window, the two special tokens included; at least 4.
        stride: tokens from the begin of a window to that of the next, at least 1 and at most
            `window − 2`, so that no token is left out.
        pool: "max" or "mean" of the windows' pooled vectors, which is the text's.

    Raises:
        ConfigError: a value is out of range.
    """

    window: int = 128
    stride: int = 64
    pool: str = "max"

    def __post_init__(self):
        for name, value, lowest, highest in (
            ("window", self.window, 4, None),
            ("stride", self.stride, 1, self.window - 2),
        ):
            if type(value) is not int or value < lowest or (highest and value > highest):
                most = f" to {highest} (window − 2)" if highest else ""
                raise ConfigError(
                    f"long.{name}: expected a whole number from {lowest}{most}, got {value!r}"
                )
        if self.pool not in POOLS:
            raise ConfigError(f"long.pool: expected one of {', '.join(POOLS)}, got {self.pool!r}")


class Places(NamedTuple):
    """Where the positions of rows are in their windows.

    Attributes:
        row: `[windows] int32`, the row of each window.
        positions: `[batch, time] int32`, of each position of a row its place among all positions of
            all windows.
        mask: `[batch, time] bool`.
    """

    row: tf.Tensor
    positions: tf.Tensor
    mask: tf.Tensor


def in_windows(inputs: dict, long: LongTexts) -> tuple[dict, Places]:
    """The windows of packed rows as rows, without empty ones, padded to the longest.

    Shapes: `input_word_ids`, `input_mask` and, if given, `input_type_ids`, each `[batch, time]
    int32`, of one text a row, with one special token at its begin and one at its end → the same,
    `[windows, at most long.window]`; `Places`.
    """
    mask = tf.cast(inputs["input_mask"], tf.bool)
    batch, time = tf.shape(mask)[0], tf.shape(mask)[1]
    tokens = tf.maximum(tf.math.count_nonzero(mask, axis=1, dtype=tf.int32) - 2, 0)
    room = long.window - 2
    more = tf.maximum(tokens - room, 0)
    count = 1 + (more + long.stride - 1) // long.stride
    first = tf.cumsum(count, exclusive=True)
    row = tf.repeat(tf.range(batch), count)
    start = (tf.range(tf.shape(row)[0]) - tf.gather(first, row)) * long.stride
    inside = tf.minimum(tf.gather(tokens, row) - start, room)
    offset = tf.range(tf.reduce_max(tf.concat([inside, [0]], axis=0)) + 2)[None]
    last = tf.gather(tokens, row)[:, None] + 1
    source = tf.where(offset <= inside[:, None], start[:, None] + offset, last)
    source = tf.where(offset == 0, 0, source)
    # A row without any token has no last one.
    flat = tf.minimum(row[:, None] * time + source, batch * time - 1)
    windows = {
        name: tf.gather(tf.reshape(inputs[name], [-1]), flat) for name in _COLUMNS if name in inputs
    }
    real = offset < inside[:, None] + 2
    windows["input_mask"] = tf.cast(real, inputs["input_mask"].dtype)
    return windows, Places(row, _nearest(tokens, count, first, offset, time, long), mask)


def _nearest(tokens, count, first, offset, time, long: LongTexts):
    """For each position of a row its place in the window whose middle is nearest to it."""
    position = tf.range(time)[None]
    # Of a full window with the tokens 0 … room − 1 the middle is (room − 1) / 2.
    from_middle = tf.cast(2 * (position - 1) - (long.window - 3) + long.stride, tf.float32)
    number = tf.cast(tf.floor(from_middle / (2 * long.stride)), tf.int32)
    number = tf.minimum(tf.maximum(number, 0), count[:, None] - 1)
    is_after = position > tokens[:, None]  # the last token, and padding
    number = tf.where(is_after, count[:, None] - 1, number)
    within = tf.minimum(position, tokens[:, None] + 1) - number * long.stride
    return (first[:, None] + number) * tf.shape(offset)[1] + within


def joined(encoded: dict, places: Places, long: LongTexts) -> dict:
    """An encoder's outputs for windows as those for rows.

    Shapes: of `layers` each `[windows, length, width]` → `[batch, time, width]`; `pooled`
    `[windows, width]` → `[batch, width]`; `mask` `[batch, time] bool`.
    """
    outputs = {"layers": [_stitched(layer, places) for layer in encoded["layers"]]}
    if "pooled" in encoded:
        pooled = tf.cast(encoded["pooled"], tf.float32)
        pool = tf.math.segment_max if long.pool == "max" else tf.math.segment_mean
        outputs["pooled"] = tf.cast(pool(pooled, places.row), encoded["pooled"].dtype)
    return outputs | {"mask": places.mask}


def _stitched(layer, places: Places):
    width = layer.shape[-1]
    return tf.gather(tf.reshape(layer, [-1, width]), places.positions)
