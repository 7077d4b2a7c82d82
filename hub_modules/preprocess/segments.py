"""Fits ragged segments into a length limit: truncates texts, splits sentences between words.

Tokens are word pieces (BERT) or words (ELMo).
"""

import tensorflow as tf

from hub_modules.errors import ConfigError


def truncate(segments: list[tf.RaggedTensor], limit: int) -> tuple[list, tf.Tensor]:
    """Cuts each row until its segments have `limit` tokens in total, without special tokens.

    One segment keeps its prefix. Of two, the longer loses its last token (the second, if they are
    equally long) until both fit; in closed form, with `h = ceil(limit / 2)`:
    `a' = min(a, max(h, limit - b))`, `b' = min(b, limit - a')`. TF Hub's modules fill both in turn,
    one token at a time (round robin), which gives the same lengths.

    Shapes: segments `[batch, (tokens)]`, one or two → the same; whether a row was cut
    `[batch] bool`.

    Source: google-research/bert, run_classifier.py, the truncation of a pair of sequences;
    tensorflow-text, RoundRobinTrimmer.
    """
    lengths = [segment.row_lengths() for segment in segments]
    limit = tf.cast(limit, lengths[0].dtype)
    if len(segments) == 1:
        kept = [tf.minimum(lengths[0], limit)]
    elif len(segments) == 2:
        first = tf.minimum(lengths[0], tf.maximum((limit + 1) // 2, limit - lengths[1]))
        kept = [first, tf.minimum(lengths[1], limit - first)]
    else:
        raise ConfigError(f"truncate: expected one or two segments, got {len(segments)}")
    cut = sum(lengths) > limit
    return [_prefix(*pair) for pair in zip(segments, kept, strict=True)], cut


def split_words(word_tokens: tf.RaggedTensor, budget: int) -> tf.RaggedTensor:
    """Splits each sentence of more than `budget` tokens between words; words keep their order.

    A word belongs to chunk `offset // (budget - longest + 1)` of its sentence: it comes after
    `offset` tokens, and the sentence's longest word has `longest` tokens, so that no chunk has more
    than `budget`. Only the row splits are new: the sentences' own row splits restore the sentences
    in any result per word. The caller must refuse or cut words of more than `budget` tokens.

    Shapes: `[batch, (words), (tokens)]` → `[chunks, (words), (tokens)]`.
    """
    lengths = word_tokens.values.row_lengths()
    budget = tf.cast(budget, lengths.dtype)
    sentence_of_word = word_tokens.value_rowids()
    before = tf.cumsum(lengths, exclusive=True)
    sentence_lengths = tf.reduce_sum(word_tokens.with_values(lengths), axis=1)
    offset = before - tf.gather(tf.cumsum(sentence_lengths, exclusive=True), sentence_of_word)
    longest = tf.math.segment_max(lengths, sentence_of_word)
    width = tf.maximum(budget - tf.gather(longest, sentence_of_word) + 1, 1)
    too_long = tf.gather(sentence_lengths > budget, sentence_of_word)
    chunk = tf.where(too_long, offset // width, 0)
    same_sentence = sentence_of_word[1:] == sentence_of_word[:-1]
    starts = tf.where(same_sentence & (chunk[1:] != chunk[:-1]))[:, 0] + 1
    splits = tf.sort(tf.concat([starts, word_tokens.row_splits], axis=0))
    return tf.RaggedTensor.from_row_splits(word_tokens.values, splits)


def cut_words(word_tokens: tf.RaggedTensor, budget: int) -> tf.RaggedTensor:
    """Cuts each word to its first `budget` tokens: `[batch, (words), (tokens)]` → the same."""
    words = word_tokens.values
    limit = tf.cast(budget, words.row_splits.dtype)
    return word_tokens.with_values(_prefix(words, tf.minimum(words.row_lengths(), limit)))


def one_segment(
    segments: list[tf.RaggedTensor], length: int | None, reader: str
) -> tuple[tf.RaggedTensor, tf.Tensor]:
    """The only segment of a family that reads one text at a time, and the length to pad it to: its
    longest row, at least 1, or `length`.

    Args:
        reader: what reads it, for messages.

    Raises:
        ConfigError: more than one segment.
        tf.errors.InvalidArgumentError: a row is longer than `length`.
    """
    if len(segments) != 1:
        raise ConfigError(
            f"{reader} reads one text at a time: expected 1 segment, got {len(segments)}; "
            "pack the texts of a pair one by one"
        )
    lengths = tf.cast(segments[0].row_lengths(), tf.int32)
    if length is None:
        return segments[0], tf.reduce_max(tf.concat([lengths, [1]], axis=0))
    length = tf.cast(length, tf.int32)
    message = "pack: a row has more words than `length`; truncate it first"
    with tf.control_dependencies([tf.debugging.assert_less_equal(lengths, length, message)]):
        return segments[0], tf.identity(length)


def _prefix(segment: tf.RaggedTensor, lengths: tf.Tensor) -> tf.RaggedTensor:
    starts = segment.row_starts()
    kept = tf.ragged.range(starts, starts + lengths)
    return kept.with_values(tf.gather(segment.values, kept.values))
