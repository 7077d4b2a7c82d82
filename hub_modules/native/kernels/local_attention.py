"""Attention to what is near, in blocks: memory and time are linear in a row's length."""

from collections.abc import Callable

import tensorflow as tf

Attend = Callable[..., tf.Tensor]


def local_attention(
    query: tf.Tensor,
    key: tf.Tensor,
    value: tf.Tensor,
    visible: tf.Tensor,
    reach: int,
    attend: Attend,
) -> tf.Tensor:
    """The attention of each position to those at most `reach` away.

    Rows of more than three blocks of `reach` positions are cut into such blocks; each attends to
    itself and its two neighbours. Shorter ones are computed whole: that is faster, and the same.

    Shapes: query, key, value `[batch, heads, time, head_width]`; visible `[batch, 1, 1, time]
    bool` → `[batch, heads, time, head_width]`.

    Args:
        attend: (query, key, value, visible) with further axes before the last two → the mixed
            values.
    """

    def whole():
        places = tf.range(tf.shape(query)[2])
        near = tf.abs(places[:, None] - places[None, :]) <= reach
        return attend(query, key, value, tf.logical_and(visible, near))

    def blocks():
        time = tf.shape(query)[2]
        count = -(-time // reach)
        missing = count * reach - time
        queries = _split(query, [0, missing], count, reach)
        keys = _with_neighbours(key, missing, count, reach)
        values = _with_neighbours(value, missing, count, reach)
        row = tf.transpose(visible, [0, 1, 3, 2])  # [batch, 1, time, 1]
        seen = _with_neighbours(row, missing, count, reach)[..., 0][..., None, :]
        distance = tf.range(reach)[:, None] + reach - tf.range(3 * reach)[None, :]
        seen = tf.logical_and(seen, tf.abs(distance) <= reach)
        mixed = attend(queries, keys, values, seen)
        shape = tf.shape(query)
        joined = tf.reshape(mixed, [shape[0], shape[1], count * reach, query.shape[3]])
        return tf.ensure_shape(joined[:, :, :time], query.shape)

    return tf.cond(tf.shape(query)[2] <= 3 * reach, whole, blocks)


def in_blocks(query: tf.Tensor, size: int, attend: Callable[[tf.Tensor], tf.Tensor]) -> tf.Tensor:
    """`attend(query)`, computed for at most `size` queries at a time, so that no more scores are in
    memory. The blocks are of one length, which OpenVINO's loops need.

    Shapes: query `[batch, heads, time, head_width]` → the same.
    """
    time = tf.shape(query)[2]
    count = -(-time // size)
    length = -(-time // count)
    padded = tf.pad(query, [[0, 0], [0, 0], [0, count * length - time], [0, 0]])
    written = tf.TensorArray(query.dtype, count, infer_shape=False)

    def step(index, written):
        mixed = attend(padded[:, :, index * length : (index + 1) * length])
        return index + 1, written.write(index, tf.transpose(mixed, [2, 0, 1, 3]))

    _, written = tf.while_loop(
        lambda index, _: index < count,
        step,
        (tf.constant(0), written),
        parallel_iterations=1,
        maximum_iterations=count,
    )
    joined = tf.transpose(written.concat(), [1, 2, 0, 3])
    return tf.ensure_shape(joined[:, :, :time], query.shape)


def _split(tensor, padding, count, size):
    """`[batch, heads, time, width]` → `[batch, heads, blocks, size, width]`, padded in time."""
    padded = tf.pad(tensor, [[0, 0], [0, 0], padding, [0, 0]])
    shape = tf.shape(tensor)
    return tf.reshape(padded, [shape[0], shape[1], count, size, tensor.shape[3]])


def _with_neighbours(tensor, missing, count, size):
    """`[batch, heads, time, width]` → `[batch, heads, blocks, 3 size, width]`."""
    blocks = _split(tensor, [size, missing + size], count + 2, size)
    parts = [blocks[:, :, :-2], blocks[:, :, 1:-1], blocks[:, :, 2:]]
    return tf.concat(parts, axis=3)
