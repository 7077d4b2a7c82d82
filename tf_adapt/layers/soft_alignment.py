"""Dot-product attention between the words of two texts."""

import tensorflow as tf


def masked_softmax(scores, mask):
    """Softmax over the unmasked positions of the last axis; zeros if all are masked.

    Shapes: scores `[..., time]`, mask of a shape that broadcasts to it → `[..., time] float32`.
    """
    scores, mask = tf.cast(scores, tf.float32), tf.cast(mask, tf.bool)
    # The lowest finite number, not −∞: the softmax of a row of −∞ is NaN.
    weights = tf.nn.softmax(tf.where(mask, scores, tf.float32.min))
    return tf.where(mask, weights, 0.0)


def attended(scores, states, mask):
    """Average of the states, weighted by `masked_softmax(scores)`.

    Shapes: scores `[batch, queries, time]`, states `[batch, time, width]`, mask
    `[batch, time] bool` → `[batch, queries, width]` in the states' dtype.
    """
    weights = masked_softmax(scores, tf.cast(mask, tf.bool)[:, None])
    return tf.matmul(tf.cast(weights, states.dtype), states)


def soft_alignment(a, b, mask_a, mask_b):
    """Attention from each word of one text to the other text, both ways, without scaling.

    `ã = softmax(a bᵀ) b` and `b̃ = softmax(b aᵀ) a`, zeros where the other text is empty.

    Shapes: a `[batch, time_a, width]`, b `[batch, time_b, width]`, masks `[batch, time] bool` →
    ã like a, b̃ like b.

    Masking: padding is not attended to; outputs at padding are undefined.

    Source: Chen et al. 2017, equations 11 to 13.
    """
    scores = tf.matmul(a, b, transpose_b=True)
    return attended(scores, b, mask_b), attended(tf.transpose(scores, [0, 2, 1]), a, mask_a)


def enhanced(a, aligned):
    """`[a; ã; a − ã; a ⊙ ã]`: `[batch, time, width]` twice → `[batch, time, 4 * width]`."""
    return tf.concat([a, aligned, tf.subtract(a, aligned), tf.multiply(a, aligned)], axis=-1)
