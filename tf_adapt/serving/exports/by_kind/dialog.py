"""Personas and histories in the graph: the prompts of the replies."""

from typing import Any

import tensorflow as tf

from tf_adapt.data.packing.prepared import Limits
from tf_adapt.tasks.by_kind.dialog import EXCHANGES, MAX_NEW_TOKENS, NEW_TOKENS


def of_dialogue(answer):
    """A signature of personas and histories."""
    return lambda persona, history: answer({"persona": persona, "history": history})


def prompts(model: Any, texts: list[tf.Tensor], limits: Limits, new: tf.Tensor) -> dict:
    """The rows that a `DialogModel` continues, as `prompts_of` those of `prepare_dialog`.

    Shapes: persona `[batch, sentences]`, history `[batch, turns] string`, the other's last turn at
    the end, both padded at their ends by "" → each `[batch, time] int32`.

    Raises:
        tf.errors.InvalidArgumentError: in the graph: "" is before a text, a persona or a history
            has no text, or persona and last turn are too long.
    """
    persona = _texts("persona", texts[0])
    history = _texts("history", texts[1])[:, -(2 * EXCHANGES + 1) :]
    first_new, tokenize = model.encoder.native.vocabulary_size, model.writer.tokenize
    bos, _, other, own = range(first_new, first_new + NEW_TOKENS)
    facts = persona.with_values(tokenize(persona.values)).merge_dims(1, 2)
    # The last turn is the other's, and they speak in turn.
    places = history.with_values(tf.ragged.range(history.row_lengths()).values)
    last = tf.cast(tf.repeat(history.row_lengths() - 1, history.row_lengths()), tf.int64)
    is_own = tf.cast((last - places.values) % 2, tf.int32)
    begins = tf.where(is_own == 1, own, other)[:, None]
    turns = tf.concat([begins, tf.cast(tokenize(history.values), tf.int32)], axis=1)
    room = limits.tokens - tf.maximum(new, MAX_NEW_TOKENS)
    fixed = 2 + tf.cast(facts.row_lengths(), tf.int32)
    kept = _kept(history.with_values(tf.cast(turns.row_lengths(), tf.int32)), fixed, room)
    kept_turns = tf.ragged.boolean_mask(history.with_values(turns), kept).merge_dims(1, 2)
    segments = tf.RaggedTensor.from_row_splits(
        tf.repeat(is_own, turns.row_lengths()), turns.row_splits
    )
    kept_segments = tf.ragged.boolean_mask(history.with_values(segments), kept).merge_dims(1, 2)
    one = tf.ones([history.nrows(), 1], tf.int32)
    facts = tf.cast(facts, tf.int32)
    ids = tf.concat([one * bos, facts, kept_turns, one * own], axis=1)
    types = tf.concat([one, tf.ones_like(facts), kept_segments, one], axis=1)
    return {
        "input_word_ids": ids.to_tensor(),
        "input_mask": tf.sequence_mask(ids.row_lengths(), dtype=tf.int32),
        "input_type_ids": types.to_tensor(),
    }


def _texts(name: str, padded: tf.Tensor) -> tf.RaggedTensor:
    """The texts of each row, `[batch, (texts)]`, without the padding."""
    is_text = padded != ""
    counts = tf.math.count_nonzero(is_text, axis=1)
    in_order = tf.reduce_all(is_text == tf.sequence_mask(counts, tf.shape(padded)[1]))
    message = f"{name}: expected empty texts, of padding, at the end of a row alone, got one before"
    checks = [
        tf.debugging.Assert(in_order, [message]),
        tf.debugging.Assert(
            tf.reduce_all(counts > 0), [f"{name}: expected at least one text in each row, got none"]
        ),
    ]
    with tf.control_dependencies(checks):
        return tf.RaggedTensor.from_tensor(padded, lengths=tf.identity(counts))


def _kept(lengths: tf.RaggedTensor, fixed: tf.Tensor, room: tf.Tensor) -> tf.RaggedTensor:
    """Which turns stay, `[batch, (turns)] bool`: the oldest exchanges are left out until the rest
    fits.

    Shapes: lengths `[batch, (turns)]`, fixed, of all beside the turns, `[batch]`, room `[]`, all
    `int32`.
    """
    whole = fixed[:, None] + tf.cumsum(lengths.to_tensor(), axis=1, reverse=True)
    starts = tf.range(tf.shape(whole)[1])
    counts = tf.cast(lengths.row_lengths(), tf.int32)[:, None]
    whole = tf.where((starts % 2 == 0) & (starts < counts), whole, tf.int32.max)
    longest = tf.reduce_max(tf.reduce_min(whole, axis=1))
    message = tf.strings.format(
        "expected persona and last turn of at most {} tokens, so that a reply fits behind them, "
        "got {}; shorten them, or lower max_new_tokens",
        (tf.maximum(room, 0), longest),
    )
    with tf.control_dependencies([tf.debugging.Assert(longest <= room, [message])]):
        first = tf.argmax(whole <= room, axis=1, output_type=tf.int32)
    return tf.RaggedTensor.from_tensor(starts >= first[:, None], lengths=lengths.row_lengths())
