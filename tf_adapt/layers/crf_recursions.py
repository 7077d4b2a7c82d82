"""Scores and the partition function of a linear-chain CRF.

A path of tags y over n words has the score `Σ_t scores[t, y_t] + Σ_t transitions[y_t, y_{t+1}]`;
scores of the first and the last tag are in `scores[0]` and `scores[n - 1]`.

Shapes everywhere: scores `[batch, time, tags] float64`, finite at padding; transitions
`[tags, tags] float64`, from row to column; lengths `[batch] int32`, the number of real words of
each row, which precede padding.
"""

import tensorflow as tf

from hub_modules.native.kernels.custom_gradients import custom_gradient

# A loop iteration costs more in scheduling than the arithmetic of one position.
POSITIONS_AT_ONCE = 8
# Largest difference of two transitions for which e^(−difference) is far enough from the smallest
# float64, e^−708, for exact sums.
LARGEST_SPREAD = 300.0


def path_score(scores, transitions, lengths, tags):
    """Score of the path `tags` (`[batch, time] int32`, anything at padding) → `[batch]`."""
    real = tf.sequence_mask(lengths, tf.shape(scores)[1])
    tags = tf.where(real, tags, 0)
    chosen = tf.where(real, tf.gather(scores, tags, batch_dims=2), 0.0)
    pairs = tags[:, :-1] * transitions.shape[0] + tags[:, 1:]
    steps = tf.gather(tf.reshape(transitions, [-1]), pairs)
    steps = tf.where(real[:, 1:], steps, 0.0)
    return tf.reduce_sum(chosen, axis=1) + tf.reduce_sum(steps, axis=1)


def log_partition(scores, transitions, lengths):
    """`log Σ_y exp(score of y)` over all paths → `[batch] float64`; 0 for an empty row.

    The forward and the backward recursion run in one loop, so that the gradient is a few operations
    on whole arrays: `∂/∂scores[t, j] = p(y_t = j)`, and
    `∂/∂transitions[i, j] = Σ_t p(y_t = i, y_{t+1} = j)`.
    """
    spread = tf.reduce_max(transitions) - tf.reduce_min(transitions)

    @custom_gradient
    def partition(scores, transitions):
        real = tf.sequence_mask(lengths, tf.shape(scores)[1])
        value, *messages = tf.cond(
            spread < LARGEST_SPREAD,
            lambda: _by_products(scores, transitions, lengths),
            lambda: _by_logarithms(scores, transitions, lengths),
        )

        def gradients(upstream):
            weights = tf.where(real, upstream[:, None], 0.0)
            return tf.cond(
                spread < LARGEST_SPREAD,
                lambda: _gradients_by_products(transitions, *messages, weights, real),
                lambda: _gradients_by_logarithms(transitions, *messages, weights, real),
            )

        return value, gradients

    return partition(scores, transitions)


def _by_products(scores, transitions, lengths):
    """The recursions in probability space: matrix products, rescaled at every word."""
    real = tf.sequence_mask(lengths, tf.shape(scores)[1])
    best_score = tf.reduce_max(scores, axis=-1, keepdims=True)
    best_transition = tf.reduce_max(transitions)
    factors = tf.exp(scores - best_score)
    step = tf.exp(transitions - best_transition)
    steps = tf.stack([step, tf.transpose(step)])

    def advance(factor, message):
        sums = factor * message
        return tf.matmul(sums / tf.reduce_sum(sums, axis=-1, keepdims=True), steps)

    from_front, from_behind = _messages(factors, 1.0, advance, lengths)
    growth = tf.math.log(tf.reduce_sum(factors * from_front, axis=-1)) + best_score[..., 0]
    num_steps = tf.cast(tf.maximum(lengths - 1, 0), scores.dtype)
    value = tf.reduce_sum(tf.where(real, growth, 0.0), axis=1) + num_steps * best_transition
    return value, factors, from_front, from_behind


def _gradients_by_products(transitions, factors, from_front, from_behind, weights, real):
    prefixes, suffixes = factors * from_front, factors * from_behind
    joint = prefixes * from_behind
    weights /= tf.reduce_sum(joint, axis=-1)
    # A pair of neighbours is indexed by its first word; there is no pair across two rows.
    following = tf.where(real, 1 / tf.reduce_sum(suffixes, axis=-1), 0.0)
    following = tf.pad(following, [[0, 0], [0, 1]])[:, 1:]
    before = _rows(prefixes * (weights * following)[..., None])[:-1]
    step = tf.exp(transitions - tf.reduce_max(transitions))
    pairs = step * tf.matmul(before, _rows(suffixes)[1:], transpose_a=True)
    return joint * weights[..., None], pairs


def _by_logarithms(scores, transitions, lengths):
    """The recursions in log space: slower, but for transitions of any size, such as −10000."""
    steps = tf.stack([transitions, tf.transpose(transitions)])[:, None]  # [2, 1, from, to]

    def advance(score, message):
        return tf.reduce_logsumexp((score + message)[..., None] + steps, axis=-2)

    from_front, from_behind = _messages(scores, 0.0, advance, lengths)
    of_first = tf.reduce_logsumexp((scores + from_behind)[:, :1], axis=-1)
    of_first = tf.where(lengths[:, None] > 0, of_first, 0.0)  # [batch, 1], or without a column
    return tf.reduce_sum(of_first, axis=1), scores, from_front, from_behind


def _gradients_by_logarithms(transitions, scores, from_front, from_behind, weights, real):
    prefixes, suffixes = scores + from_front, scores + from_behind
    total = tf.reduce_logsumexp(prefixes + from_behind, axis=-1, keepdims=True)
    of_scores = tf.exp(prefixes + from_behind - total) * weights[..., None]
    # One position more, so that index 0 exists in a batch without words.
    before = tf.pad(prefixes - total, [[0, 0], [0, 1], [0, 0]])
    after = tf.pad(suffixes, [[0, 0], [0, 1], [0, 0]])
    weights = tf.pad(tf.where(real[:, 1:], weights[:, :-1], 0.0), [[0, 0], [0, 2]])

    def add_pairs(index, pairs):
        weight = weights[:, index, None, None]
        logs = before[:, index, :, None] + transitions + after[:, index + 1, None]
        # At padding e^logs is no probability and may be infinite.
        logs = tf.where(weight != 0, logs, 0.0)
        return index + 1, pairs + tf.reduce_sum(weight * tf.exp(logs), axis=0)

    last = tf.shape(scores)[1] - 1
    start = (0, tf.zeros_like(transitions))
    _, pairs = tf.while_loop(lambda index, _: index < last, add_pairs, start)
    return of_scores, pairs


def _messages(words, first, advance, lengths):
    """`m_0 = first`, `m_{t+1} = advance(words_t, m_t)`, from the first and from the last real word.

    Shapes: words `[batch, time, tags]` → two of the same shape; argument and result of advance
    `[2, batch, tags]`, forward then backward.
    """
    batch, time, num_tags = *tf.unstack(tf.shape(words))[:2], words.shape[2]
    rows, positions = tf.range(batch), tf.range(time)[:, None]
    mirrored = tf.where(positions < lengths, lengths - 1 - positions, positions)  # [time, batch]
    both_ways = tf.stack([positions + tf.zeros_like(rows), mirrored], axis=1) + rows * time
    blocks = in_blocks(tf.gather(_rows(words), both_ways))

    def block(index, message, history):
        for offset, word in enumerate(tf.unstack(blocks[index], POSITIONS_AT_ONCE)):
            history = history.write(index * POSITIONS_AT_ONCE + offset, message)
            message = advance(word, message)
        return index + 1, message, history

    count = tf.shape(blocks)[0]
    history = tf.TensorArray(words.dtype, size=count * POSITIONS_AT_ONCE)
    start = (0, tf.zeros_like(blocks[0, 0]) + first, history)
    *_, history = tf.while_loop(lambda index, *_: index < count, block, start)
    history = tf.reshape(history.stack(), [-1, num_tags])  # [positions * 2 * batch, tags]
    # [batch, time]
    forwards = tf.transpose(positions * 2 * batch + rows)
    backwards = tf.transpose((mirrored * 2 + 1) * batch + rows)
    return tf.gather(history, forwards), tf.gather(history, backwards)


def in_blocks(by_time):
    """`[time, …]` → `[blocks, POSITIONS_AT_ONCE, …]`: at least one block, padded with 1."""
    time, *rest = tf.unstack(tf.shape(by_time))
    count = tf.maximum(-(-time // POSITIONS_AT_ONCE), 1)
    missing = count * POSITIONS_AT_ONCE - time
    padded = tf.pad(by_time, [[0, missing]] + [[0, 0]] * len(rest), constant_values=1)
    blocks = tf.reshape(padded, [count, POSITIONS_AT_ONCE, *rest])
    return tf.ensure_shape(blocks, [None, POSITIONS_AT_ONCE, *by_time.shape[1:]])


def _rows(by_word):
    """`[batch, time, tags]` → `[batch * time, tags]`."""
    return tf.reshape(by_word, [-1, by_word.shape[-1]])
