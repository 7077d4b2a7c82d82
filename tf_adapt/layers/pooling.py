"""Poolings of a sequence over its real positions: first, last, mean, maximum and minimum."""

import tensorflow as tf


def masked_first(states, mask):
    """The state at the first real position; 0 for a row without any.

    Shapes: states `[batch, time, width]`, mask `[batch, time] bool` → `[batch, width]`.
    """
    count = tf.cumsum(tf.cast(mask, tf.int32), axis=1)
    return _single(states, tf.cast(mask, tf.bool) & (count == 1))


def masked_last(states, mask):
    """The state at the last real position; 0 for a row without any.

    Shapes: states `[batch, time, width]`, mask `[batch, time] bool` → `[batch, width]`.
    """
    count = tf.cumsum(tf.cast(mask, tf.int32), axis=1, reverse=True)
    return _single(states, tf.cast(mask, tf.bool) & (count == 1))


def masked_max(states, mask):
    """Maximum of each feature over the real positions; 0 for a row without any.

    Shapes: states `[batch, time, width]`, mask `[batch, time] bool` → `[batch, width]`.
    """
    mask = tf.cast(mask, tf.bool)
    real = tf.where(mask[..., None], states, tf.cast(float("-inf"), states.dtype))
    largest = tf.reduce_max(real, axis=1)
    return tf.where(tf.reduce_any(mask, axis=1)[:, None], largest, tf.zeros_like(largest))


def masked_min(states, mask):
    """Minimum of each feature over the real positions; 0 for a row without any.

    Shapes: states `[batch, time, width]`, mask `[batch, time] bool` → `[batch, width]`.
    """
    return -masked_max(-states, mask)


def masked_mean(states, mask):
    """Mean of each feature over the real positions; 0 for a row without any.

    Shapes: states `[batch, time, width]`, mask `[batch, time] bool` → `[batch, width]`.
    """
    mask = tf.cast(mask, tf.bool)
    # A sum over a long text in half precision would lose small summands.
    real = tf.where(mask[..., None], tf.cast(states, tf.float32), 0.0)
    count = tf.math.count_nonzero(mask, axis=1, keepdims=True, dtype=tf.float32)
    return tf.cast(tf.reduce_sum(real, axis=1) / tf.maximum(count, 1.0), states.dtype)


def _single(states, chosen):
    """The state at the one chosen position of each row, or 0 if none is.

    A sum with zeros is exact in every precision, and works on rows without positions.
    """
    return tf.reduce_sum(tf.where(chosen[..., None], states, tf.zeros_like(states)), axis=1)


# The poolings that heads and probes know by name.
POOLINGS = {"first": masked_first, "last": masked_last, "mean": masked_mean, "max": masked_max}


def check_pooling(name: str, what: str = "pooling") -> None:
    """Checks the name of a pooling.

    Raises:
        ValueError: it is no key of `POOLINGS`.
    """
    if name not in POOLINGS:
        raise ValueError(f"{what}: expected one of {', '.join(POOLINGS)}, got {name!r}")
