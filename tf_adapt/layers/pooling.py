"""Largest, smallest and mean value of each unit over the real positions of a sequence."""

import tensorflow as tf


def masked_max(states, mask):
    """Largest value of each unit over the real positions; 0 for a row without any.

    Shapes: states `[batch, time, width]`, mask `[batch, time] bool` → `[batch, width]`.
    """
    mask = tf.cast(mask, tf.bool)
    real = tf.where(mask[..., None], states, tf.cast(float("-inf"), states.dtype))
    largest = tf.reduce_max(real, axis=1)
    return tf.where(tf.reduce_any(mask, axis=1)[:, None], largest, tf.zeros_like(largest))


def masked_min(states, mask):
    """Smallest value of each unit over the real positions; 0 for a row without any.

    Shapes: states `[batch, time, width]`, mask `[batch, time] bool` → `[batch, width]`.
    """
    return -masked_max(-states, mask)


def masked_mean(states, mask):
    """Mean of each unit over the real positions; 0 for a row without any.

    Shapes: states `[batch, time, width]`, mask `[batch, time] bool` → `[batch, width]`.
    """
    mask = tf.cast(mask, tf.bool)
    # A sum in half precision would lose the small words of a long text.
    real = tf.where(mask[..., None], tf.cast(states, tf.float32), 0.0)
    count = tf.math.count_nonzero(mask, axis=1, keepdims=True, dtype=tf.float32)
    return tf.cast(tf.reduce_sum(real, axis=1) / tf.maximum(count, 1.0), states.dtype)
