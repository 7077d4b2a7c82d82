"""Masking of word pieces for a masked language model, as a pure function of the row and a seed.

Every random number is a hash of (seed, the row's pieces, position). So the mask of a row does not
depend on its batch, its padding or the number of devices.
"""

import tensorflow as tf

MASK_SHARE, RANDOM_SHARE = 0.8, 0.1
_LOW_BITS = 2**32 - 1
# Below 2^27, so that its product with a 32-bit number fits into int64.
_MULTIPLIER = 0x45D9F3B


def mask_pieces(ids, mask, special: dict[str, int], share: float, seed):
    """Masks each ordinary piece with probability `share`.

    Of the masked pieces 80 % become `[MASK]`, 10 % a random piece, and 10 % are unchanged. Special
    tokens and padding are never masked. A row may have no masked piece.

    Shapes: ids and mask (1 = real) `[batch, time] int32`, seed `[2] int` → the encoder's input ids
    `[batch, time] int32`, and which pieces to predict `[batch, time] bool`.

    Args:
        special: as `special_token_ids` of a preprocessor, with `mask_id`.

    Source: Devlin et al. 2019, section 3.1, task 1; pieces are masked independently, whereas
    google-research/bert masks exactly 15 % of each row.
    """
    real = tf.cast(mask, tf.bool)
    ordinary = real
    for name, number in special.items():
        if name != "vocab_size":
            ordinary &= ids != number
    which, how, what = _draws(ids, real, seed, count=3)
    hidden = ordinary & (which < share)
    random_ids = tf.cast(what * special["vocab_size"], ids.dtype)
    replaced = tf.where(how < MASK_SHARE, tf.cast(special["mask_id"], ids.dtype), random_ids)
    changed = hidden & (how < MASK_SHARE + RANDOM_SHARE)
    return tf.where(changed, replaced, ids), hidden


def _draws(ids, real, seed, count: int) -> list:
    """`count` tensors `[batch, time] float32` of numbers in [0, 1)."""
    seed = tf.cast(seed, tf.int64)
    start = _mixed(_mixed(seed[0]) + seed[1])
    places = tf.range(tf.shape(ids)[1], dtype=tf.int64)
    pieces = _mixed(_mixed(tf.cast(ids, tf.int64) + start) + places)
    row = _mixed(tf.reduce_sum(tf.where(real, pieces, 0), axis=1, keepdims=True) + start)
    draws = []
    for number in range(count):
        bits = _mixed(tf.bitwise.bitwise_xor(row, _mixed(places * count + number)))
        # The upper 24 bits, which float32 holds exactly.
        draws.append(tf.cast(tf.bitwise.right_shift(bits, tf.constant(8, tf.int64)), "float32"))
    return [draw / 2.0**24 for draw in draws]


def _mixed(numbers):
    """A 32-bit hash of the low 32 bits of int64 numbers."""
    half = tf.constant(16, tf.int64)
    numbers = tf.bitwise.bitwise_and(numbers, tf.constant(_LOW_BITS, tf.int64))
    for _ in range(2):
        numbers = tf.bitwise.bitwise_xor(tf.bitwise.right_shift(numbers, half), numbers)
        numbers = tf.bitwise.bitwise_and(numbers * _MULTIPLIER, tf.constant(_LOW_BITS, tf.int64))
    return tf.bitwise.bitwise_xor(tf.bitwise.right_shift(numbers, half), numbers)
