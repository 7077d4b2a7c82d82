"""A head's input from an encoder's outputs: a mix of layers; texts, or a vector of each row."""

import tensorflow as tf

from tf_adapt.layers.pooling import POOLINGS


def input_states(encoded: list[dict], mix=None, training=None) -> list:
    """A head's input: for each encoder output a mix of its layers, or its top layer.

    Shapes: encoded with `layers`, list of `[batch, time, width]`, and `mask` `[batch, time]`; mix a
    `ScalarMix` or None → for each of `encoded` hidden states `[batch, time, width]`.
    """
    if mix is None:
        return [text["layers"][-1] for text in encoded]
    return [mix(text["layers"], text["mask"], training=training) for text in encoded]


def text_states(states: list, encoded: list[dict], inputs: dict | None) -> list[tuple]:
    """Hidden states and mask of each text, without BERT's special tokens.

    BERT encodes a pair as one row, `[CLS] a [SEP] b [SEP]`, which is split into its segments; a
    second separator between the texts, as in RoBERTa's row, has the type 2. `[CLS]` and `[SEP]` are
    left out: they are words of neither text, and would take part in every alignment, average and
    maximum. The second segment of a single text is empty. Texts that BERT encodes separately,
    `[CLS] a [SEP]`, lose their special tokens too.

    Shapes: states, one `[batch, time, width]` for each of `encoded`; inputs with BERT's
    `input_mask` and `input_type_ids` `[batch, time] int32`, or without → for each text
    `([batch, words, width], [batch, words] bool)`, right-padded to the longest of the batch.
    """
    if inputs is None or "input_type_ids" not in inputs:
        return [(vectors, text["mask"]) for vectors, text in zip(states, encoded, strict=True)]
    if len(encoded) == 2:
        lengths = [_count(text["mask"]) - 2 for text in encoded]
        starts = [tf.ones_like(length) for length in lengths]
        return [_part(*text) for text in zip(states, starts, lengths, strict=True)]
    real = tf.cast(inputs["input_mask"], tf.bool)
    types = inputs["input_type_ids"]
    # Without [CLS] and the first [SEP]; without the second [SEP].
    first_length = tf.maximum(_count(real & (types == 0)) - 2, 0)
    second_length = tf.maximum(_count(real & (types == 1)) - 1, 0)
    between = 2 + _count(real & (types == 2))
    return [
        _part(states[0], tf.ones_like(first_length), first_length),
        _part(states[0], first_length + between, second_length),
    ]


def row_vectors(states: list, encoded: list[dict], inputs: dict | None, pooling: str) -> list:
    """One vector for each encoded row, a text or a pair that is one row.

    `mean` and `max` are over the words of the row's texts, without special tokens: see
    `text_states`. `first` and `last` are the states at the row's first and last position, special
    tokens included: for BERT `[CLS]` and the last `[SEP]`, for ELMo the first and the last word.

    Shapes: as `text_states`; pooling, a key of `POOLINGS` → for each of `encoded` `[batch, width]`.
    """
    pool = POOLINGS[pooling]
    if pooling in ("first", "last"):
        return [pool(vectors, text["mask"]) for vectors, text in zip(states, encoded, strict=True)]
    texts = text_states(states, encoded, inputs)
    if len(encoded) == 1:
        texts = [[tf.concat(parts, axis=1) for parts in zip(*texts, strict=True)]]
    return [pool(*text) for text in texts]


def layer_vectors(encoded: list[dict], inputs: dict | None, pooling: str, mixed: bool) -> list:
    """The vectors of each layer, or of the top layer alone, for each encoded row.

    Shapes: as `row_vectors` → for each of `encoded` `[batch, layers, width]`.
    """
    chosen = slice(None) if mixed else slice(-1, None)
    layers = zip(*(text["layers"][chosen] for text in encoded), strict=True)
    vectors = [row_vectors(list(states), encoded, inputs, pooling) for states in layers]
    return [tf.stack(of_row, axis=1) for of_row in zip(*vectors, strict=True)]


def read_vectors(
    encoded: list[dict],
    inputs: dict | None,
    pooling: str | None,
    mix=None,
    scaling=None,
    training=None,
) -> list:
    """What a head on one vector of each encoded row reads.

    Shapes: as `row_vectors` → for each of `encoded` `[batch, width]`.

    Args:
        pooling: a key of `POOLINGS`; None: the encoder's pooled vector.
        mix: a `ScalarMix`; None: the top layer is read.
        scaling: a `Standardisation` of the vectors of each layer, before they are mixed; or None.
    """
    if pooling is None:
        return [text["pooled"] for text in encoded]
    if scaling is None:
        return row_vectors(input_states(encoded, mix, training), encoded, inputs, pooling)
    vectors = [scaling(row) for row in layer_vectors(encoded, inputs, pooling, mix is not None)]
    if mix is None:
        return [row[:, 0] for row in vectors]
    layers = [tf.unstack(row, axis=1) for row in vectors]
    masks = [text["mask"] for text in encoded]
    return [mix(*row, training=training) for row in zip(layers, masks, strict=True)]


def _count(flags):
    return tf.math.count_nonzero(flags, axis=1, dtype=tf.int32)


def _part(states, start, length):
    """`length` states of each row from `start` on, right-padded; and their mask.

    Shapes: start, length `[batch] int32` → `[batch, words, width]`, `[batch, words] bool`.
    """
    offsets = tf.range(tf.reduce_max(tf.concat([length, [0]], axis=0)))
    positions = start[:, None] + offsets
    positions = tf.minimum(positions, tf.shape(states)[1] - 1)
    return tf.gather(states, positions, batch_dims=1), offsets < length[:, None]
