"""A word's vector from the hidden states of its pieces: one, their mean or maximum."""

import tensorflow as tf

from hub_modules.errors import ConfigError


def word_states(states, mask, inputs: dict | None, word_pieces: str = "first") -> tuple:
    """The hidden state of each word, from those of its pieces.

    With the pieces `f … l` of a word, `first` is s_f, `last` s_l, `mean` (s_f + … + s_l) / n and
    `max` the maximum of each feature. Mean and maximum are computed in float32.

    Shapes: states `[batch, time, width]`, mask `[batch, time] bool`; inputs with `first_piece` and
    (but for `first`) `last_piece` `[batch, words] int32`, the positions of each word's first and
    last piece, −1 at padding → `[batch, words, width]` in the states' dtype, undefined at padding;
    `[batch, words] bool`. Inputs without `first_piece` belong to an encoder with one state a word,
    which each of the poolings gives: states and mask are returned as they are.

    Masking: positions of no word (special tokens, neighbours in the document, padding) have no part
    in any word, and no gradient.

    Args:
        word_pieces: a key of `tf_adapt.layers.pooling.POOLINGS`.

    Raises:
        ConfigError: another pooling than `first` for inputs that do not say where words end.

    Source: Devlin et al. 2019, section 5.3 (first). The others are common choices of today.
    """
    if inputs is None or "first_piece" not in inputs:
        return states, mask
    first = tf.cast(inputs["first_piece"], tf.int32)
    if word_pieces == "first":
        # Several times faster than `keras.ops.take_along_axis`, which repeats the positions for
        # every feature.
        return tf.gather(states, tf.maximum(first, 0), batch_dims=1), first >= 0
    if "last_piece" not in inputs:
        raise ConfigError(
            f"word_pieces: {word_pieces} needs the position of each word's last piece, but the "
            "inputs have no last_piece; make them with tf_adapt.batches, or add it with "
            "tf_adapt.data.packing.last_pieces.with_last_piece"
        )
    last = tf.cast(inputs["last_piece"], tf.int32)
    if word_pieces == "last":
        return tf.gather(states, tf.maximum(last, 0), batch_dims=1), first >= 0
    pooled = _over_pieces(tf.cast(states, tf.float32), first, last, word_pieces)
    return tf.cast(pooled, states.dtype), first >= 0


def _over_pieces(states, first, last, word_pieces: str):
    """Mean or maximum over the pieces of each word, 0 at padding: `[batch, words, width]`."""
    shape = tf.shape(first)
    count = shape[0] * shape[1]
    positions = tf.range(tf.shape(states)[1])[:, None]
    inside = (first[:, None] <= positions) & (positions <= last[:, None])  # [batch, time, words]
    # The number of each position's word in the batch, −1 in none: segments of −1 are left out.
    number = tf.reshape(tf.range(1, count + 1), shape)[:, None]
    word = tf.reduce_sum(tf.where(inside, number, 0), axis=2) - 1
    segments = (
        tf.math.unsorted_segment_max if word_pieces == "max" else (tf.math.unsorted_segment_sum)
    )
    pieces = tf.reshape(states, [-1, states.shape[-1]])
    pooled = segments(pieces, tf.reshape(word, [-1]), count)
    pooled = tf.reshape(pooled, [shape[0], shape[1], states.shape[-1]])
    if word_pieces == "mean":
        pooled /= tf.cast(last - first + 1, tf.float32)[..., None]
    return tf.where((first >= 0)[..., None], pooled, 0.0)
