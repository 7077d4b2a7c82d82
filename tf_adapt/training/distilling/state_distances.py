"""How far a student's hidden states are from a teacher's: the losses of a module's distillation."""

from collections.abc import Sequence

import tensorflow as tf


def unexplained_share(student: tf.Tensor, teacher: tf.Tensor) -> tf.Tensor:
    """The share of the teacher's variance that the student's vectors do not explain.

    `Σ ‖s − t‖² / Σ ‖t − t̄‖²`, t̄ the mean of the teacher's vectors: 0 where both are equal, 1 where
    the student always gives t̄. Unlike a plain squared error it has no unit, so that layers of
    different scale count alike.

    Shapes: both `[…, width]` → scalar float32. There is no padding.
    """
    student, teacher = (tf.cast(states, tf.float32) for states in (student, teacher))
    axes = list(range(len(teacher.shape) - 1))
    spread = teacher - tf.reduce_mean(teacher, axis=axes, keepdims=True)
    # One text alone has no spread.
    whole = tf.maximum(tf.reduce_sum(tf.square(spread)), 1e-6)
    return tf.reduce_sum(tf.square(student - teacher)) / whole


def relation_divergence(
    student: Sequence[tf.Tensor], teacher: Sequence[tf.Tensor], relation_heads: int
) -> tf.Tensor:
    """MiniLM v2's distance of self-attention relations, summed over queries, keys and values.

    `Σ_X 1/(A |x|) Σ_a Σ_i KL(R^T_{X,a,i} ‖ R^S_{X,a,i})` with `R_{X,a} = softmax(X_a X_aᵀ / √d)`,
    where X is the query, key or value vectors of all attention heads side by side, cut into A
    relation heads of the width d, and i runs over the |x| positions.

    Shapes: student, teacher: the three, each `[batch, time, width]`, the widths multiples of
    relation_heads → scalar float32. There is no padding.

    Source: Wang et al. 2021, "MiniLMv2", equations 3 to 5, with all weights α 1.
    """
    divergences = []
    for ours, theirs in zip(student, teacher, strict=True):
        wanted, given = (_log_relations(vectors, relation_heads) for vectors in (theirs, ours))
        wanted = tf.stop_gradient(wanted)
        by_position = tf.reduce_sum(tf.exp(wanted) * (wanted - given), axis=-1)
        divergences.append(tf.reduce_mean(by_position))
    return tf.add_n(divergences)


def _log_relations(vectors: tf.Tensor, heads: int) -> tf.Tensor:
    """`[batch, time, width]` → `[batch, heads, time, time] float32`."""
    batch, time, width = tf.shape(vectors)[0], tf.shape(vectors)[1], vectors.shape[-1]
    split = tf.transpose(tf.reshape(vectors, (batch, time, heads, width // heads)), (0, 2, 1, 3))
    scaled = split * tf.cast((width // heads) ** -0.5, split.dtype)
    return tf.nn.log_softmax(tf.cast(tf.matmul(scaled, split, transpose_b=True), tf.float32))
