"""The next token of each row: the most probable one, or one that is drawn."""

import tensorflow as tf


def next_tokens(logits, temperature, top_k, top_p, drawn):
    """The tokens that `Decoding` says.

    A token is drawn by the inverse of the distribution function, so that it depends on its own row
    and number alone.

    Shapes: logits `[batch, words] float32`; temperature, top_p scalars `float32`, top_k a scalar
    `int32`; drawn `[batch] float32`, uniform in [0, 1) → `[batch] int32`.
    """
    return tf.cond(
        temperature > 0,
        lambda: _drawn(logits / temperature, top_k, top_p, drawn),
        lambda: tf.argmax(logits, axis=-1, output_type=tf.int32),
    )


def uniform_draws(seed, numbers, count):
    """Uniform numbers in [0, 1), which depend on a seed and on the number of a row alone.

    Shapes: seed a scalar `int32`, numbers `[batch] int32` → `[batch, count] float32`.
    """

    def of_row(number):
        return tf.random.stateless_uniform([count], tf.stack([seed, number]))

    spec = tf.TensorSpec([None], tf.float32)
    return tf.map_fn(of_row, numbers, fn_output_signature=spec)


def _drawn(logits, top_k, top_p, drawn):
    words = logits.shape[-1]
    count = tf.where(top_k > 0, tf.minimum(top_k, words), words)
    best, ids = tf.math.top_k(logits, count)
    probabilities = tf.nn.softmax(best)
    before = tf.cumsum(probabilities, axis=-1, exclusive=True)
    kept = tf.where(before < top_p, probabilities, 0.0)
    upto = tf.cumsum(kept, axis=-1)
    # Rounding must not draw a token that was not kept: the last sum is the whole.
    wanted = drawn[:, None] * upto[:, -1:]
    place = tf.math.count_nonzero(upto <= wanted, axis=-1, dtype=tf.int32)
    last = tf.math.count_nonzero(kept > 0, axis=-1, dtype=tf.int32) - 1
    return tf.gather(ids, tf.minimum(place, last), batch_dims=1)
