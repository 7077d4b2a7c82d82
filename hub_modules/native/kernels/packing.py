"""Packs the real positions of a batch without padding, ordered by time step, and unpacks them."""

import tensorflow as tf


class Packing:
    """The real positions of right-padded rows, step by step, longest rows first in each step.

    A step holds the rows that are longer than it: always the first few of the previous step.

    Args:
        mask: `[batch, time] bool`, with padding after the real positions.

    Attributes:
        counts: `[steps] int32`, rows in each step; at least one step, possibly without rows.
        before: `[packed] int32`, 1 + the packed index of the same row one step earlier; 0 in the
            first step.
        forward: `[packed] int32`, index of each packed position in the flattened batch
            (`row * time + step`), for rows from the first word to the last.
        backward: the same, for rows from the last real word to the first.
    """

    def __init__(self, mask):
        self.shape = tf.shape(mask)
        lengths = tf.math.count_nonzero(mask, axis=1, dtype=tf.int32)
        order = tf.argsort(lengths, direction="DESCENDING", stable=True)
        steps = tf.range(tf.reduce_max(tf.concat([lengths, [1]], axis=0)))
        running = steps[:, None] < tf.gather(lengths, order)  # [steps, batch]
        self.counts = tf.math.count_nonzero(running, axis=1, dtype=tf.int32)
        step, rank = tf.unstack(tf.where(running), num=2, axis=1)
        step, rank = tf.cast(step, tf.int32), tf.cast(rank, tf.int32)
        row = tf.gather(order, rank)
        first = row * self.shape[1]
        self.forward = first + step
        self.backward = first + tf.gather(lengths, row) - 1 - step
        starts = tf.cumsum(self.counts, exclusive=True)
        starts_before = tf.concat([[0], starts[:-1]], axis=0)
        self.before = tf.where(step > 0, 1 + tf.gather(starts_before, step) + rank, 0)

    def pack(self, states, positions):
        """`[batch, time, width]` → `[packed, width]`, by `forward` or `backward`."""
        width = states.shape[-1]
        flat = tf.reshape(states, [self.shape[0] * self.shape[1], width])
        return tf.gather(flat, positions)

    def unpack(self, packed, positions):
        """`[packed, width]` → `[batch, time, width]`, with zeros at padding."""
        width = packed.shape[-1]
        flat = tf.scatter_nd(positions[:, None], packed, [self.shape[0] * self.shape[1], width])
        return tf.reshape(flat, [self.shape[0], self.shape[1], width])
