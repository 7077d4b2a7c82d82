"""Where each word ends in a packed row."""

import tensorflow as tf


def with_last_piece(inputs: dict, words: tf.RaggedTensor) -> dict:
    """The inputs with `last_piece` `[batch, words] int32`, −1 at padding.

    A word's pieces follow one another from its `first_piece` on, in a document's window too.
    Inputs without `first_piece` (one state a word) are returned as they are.

    Shapes: words, the pieces that were packed, `[batch, (words), (pieces)]`.
    """
    if "first_piece" not in inputs:
        return inputs
    more = tf.cast(words.values.row_lengths() - 1, tf.int32)
    return inputs | {"last_piece": inputs["first_piece"] + words.with_values(more).to_tensor(0)}
