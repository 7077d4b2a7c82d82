"""The best path of a linear-chain CRF (Viterbi), with or without forbidden transitions.

Shapes as in `crf_recursions.py`.
"""

import tensorflow as tf

from tf_adapt.layers.crf_recursions import POSITIONS_AT_ONCE, in_blocks

# Stands for infinity where differences must stay finite in float32.
HUGE = 1e30


def best_path(scores, transitions, lengths, forbidden=None):
    """The path with the highest score among those with the fewest forbidden transitions.

    The forward loop keeps only the best scores; the backward loop computes each best predecessor
    from them. Of equally good tags the lowest id wins.

    Args:
        forbidden: `[tags + 2, tags + 2] bool`, from row to column, with the start and the end as
            the last two; None: every transition is allowed.

    Shapes: → `[batch, time] int32`, −1 at padding.
    """
    batch, time, num_tags = *tf.unstack(tf.shape(scores))[:2], transitions.shape[0]
    real = tf.sequence_mask(lengths, time)
    # Subtracting one number from all tags of a word changes no choice, and keeps float32 exact.
    scores = tf.clip_by_value(scores, -HUGE, HUGE)
    scores -= tf.reduce_max(scores, axis=-1, keepdims=True)
    to_from = tf.transpose(tf.clip_by_value(transitions, -HUGE, HUGE))
    penalty = forbidden_steps = tf.zeros([1], scores.dtype)
    if forbidden is not None:
        forbidden = tf.cast(forbidden, scores.dtype)
        penalty = _penalty(scores, to_from, lengths)
        scores -= penalty[:, None, None] * _forbidden_ends(forbidden, lengths, time)
        forbidden_steps = tf.transpose(forbidden[:-2, :-2])
    by_time = tf.transpose(tf.cast(scores, tf.float32), [1, 2, 0])
    steps = to_from[..., None] - forbidden_steps[..., None] * penalty  # [tags, tags, batch or 1]
    steps = tf.broadcast_to(tf.cast(steps, tf.float32), [num_tags, num_tags, batch])
    best = tf.transpose(_best_scores(by_time, steps), [0, 1, 3, 2])
    choices = to_from - penalty[:, None, None] * forbidden_steps  # [batch or 1, tags, tags]
    # No transition after the last word.
    choices = tf.pad(tf.cast(choices, tf.float32), [[0, 0], [0, 1], [0, 0]])
    tags = tf.reshape(_trace_back(best, choices, lengths - 1), [-1, batch])[:time]
    return tf.where(real, tf.transpose(tags), -1)


def _penalty(scores, to_from, lengths):
    """More than a path can gain by one forbidden transition → `[batch]`."""
    real = tf.sequence_mask(lengths, tf.shape(scores)[1])
    gains = tf.where(real, -tf.reduce_min(scores, axis=-1), 0.0)
    spread = tf.reduce_max(to_from) - tf.reduce_min(to_from)
    return 1 + 2 * (tf.reduce_sum(gains, axis=1) + tf.cast(lengths, scores.dtype) * spread)


def _forbidden_ends(forbidden, lengths, time):
    """Number of forbidden boundary transitions of each tag of each word `[batch, time, tags]`."""
    is_first = tf.range(time) == 0
    is_last = tf.range(time) == lengths[:, None] - 1
    at_start = tf.where(is_first[:, None], forbidden[-2, :-2], 0.0)
    return at_start + tf.where(is_last[..., None], forbidden[:-2, -1], 0.0)


def _best_scores(by_time, steps):
    """Score of the best path to each tag, up to a constant for all tags of a word.

    Shapes: by_time `[time, tags, batch]`, steps `[tags, tags, batch]`, to row from column →
    `[blocks, POSITIONS_AT_ONCE, tags, batch]`. The batch comes last so that the maximum is computed
    for many rows at once.
    """
    blocks = in_blocks(by_time)

    def block(index, entering, history):
        entering -= tf.reduce_max(entering, axis=0)
        best = []
        for score in tf.unstack(blocks[index], POSITIONS_AT_ONCE):
            best.append(entering + score)
            entering = tf.reduce_max(best[-1] + steps, axis=1)
        return index + 1, entering, history.write(index, tf.stack(best))

    count = tf.shape(blocks)[0]
    start = (0, tf.zeros_like(blocks[0, 0]), tf.TensorArray(by_time.dtype, size=count))
    *_, history = tf.while_loop(lambda index, *_: index < count, block, start)
    return history.stack()


def _trace_back(best, choices, last):
    """The tag at each position, from the last one to the first.

    Shapes: best `[blocks, POSITIONS_AT_ONCE, batch, tags]`; choices `[batch or 1, tags + 1, tags]`:
    transition scores to each next tag, or the end; last `[batch]`, the last position →
    `[blocks, POSITIONS_AT_ONCE, batch]`, undefined after the last position.
    """
    num_tags = best.shape[-1]
    is_own = tf.cast(tf.shape(choices)[0] > 1, tf.int32)
    first_row = tf.range(tf.shape(last)[0]) * (num_tags + 1) * is_own
    choices = tf.reshape(choices, [-1, num_tags])

    def block(index, tag, history):
        tags = []
        scores = tf.unstack(best[index], POSITIONS_AT_ONCE)
        for offset in reversed(range(POSITIONS_AT_ONCE)):
            following = tf.where(last == index * POSITIONS_AT_ONCE + offset, num_tags, tag)
            from_each = scores[offset] + tf.gather(choices, first_row + following)
            tag = tf.argmax(from_each, axis=-1, output_type=tf.int32)
            tags.append(tag)
        return index - 1, tag, history.write(index, tf.stack(tags[::-1]))

    count = tf.shape(best)[0]
    start = (count - 1, tf.zeros_like(last), tf.TensorArray(tf.int32, size=count))
    *_, history = tf.while_loop(lambda index, *_: index >= 0, block, start)
    return history.stack()
