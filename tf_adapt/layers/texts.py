"""What a head reads of an encoder's outputs: which layers, and which positions are words."""

import tensorflow as tf


def read_states(encoded: list[dict], mix=None, training=None) -> list:
    """The states that a head reads: a mix of each encoder output's layers, or the top layer.

    Shapes: encoded with `layers`, list of `[batch, time, width]`, and `mask` `[batch, time]`; mix a
    `ScalarMix` or None → for each of `encoded` `[batch, time, width]`.
    """
    if mix is None:
        return [text["layers"][-1] for text in encoded]
    return [mix(text["layers"], text["mask"], training=training) for text in encoded]


def text_states(states: list, encoded: list[dict], inputs: dict | None) -> list[tuple]:
    """States and mask of each text, without BERT's special tokens.

    BERT reads a pair as one row, `[CLS] a [SEP] b [SEP]`; the row is taken apart at its segments.
    `[CLS]` and `[SEP]` are left out: they are no words of either text, what attends to them would
    be aligned with nothing, and both would stand in every average and maximum over a text. The
    second segment of a single text is empty. Texts that BERT read one by one, `[CLS] a [SEP]`, lose
    theirs too.

    Shapes: states, one `[batch, time, width]` for each of `encoded`; inputs with BERT's
    `input_mask` and `input_type_ids` `[batch, time] int32`, or without → for each text
    `([batch, words, width], [batch, words] bool)`, right-padded to the longest of the batch.
    """
    if inputs is None or "input_type_ids" not in inputs:
        return [(one, text["mask"]) for one, text in zip(states, encoded, strict=True)]
    if len(encoded) == 2:
        lengths = [_count(text["mask"]) - 2 for text in encoded]
        starts = [tf.ones_like(length) for length in lengths]
        return [_part(*text) for text in zip(states, starts, lengths, strict=True)]
    real = tf.cast(inputs["input_mask"], tf.bool)
    second = tf.cast(inputs["input_type_ids"], tf.bool)
    # Without [CLS] and the first [SEP]; without the second [SEP].
    first_length = tf.maximum(_count(real & ~second) - 2, 0)
    second_length = tf.maximum(_count(real & second) - 1, 0)
    return [
        _part(states[0], tf.ones_like(first_length), first_length),
        _part(states[0], first_length + 2, second_length),
    ]


def _count(flags):
    return tf.math.count_nonzero(flags, axis=1, dtype=tf.int32)


def _part(states, start, length):
    """`length` states of each row from `start` on, padded at the end; and their mask."""
    offsets = tf.range(tf.reduce_max(tf.concat([length, [0]], axis=0)))
    places = start[:, None] + offsets
    places = tf.minimum(places, tf.shape(states)[1] - 1)
    return tf.gather(states, places, batch_dims=1), offsets < length[:, None]
