"""Making ragged segments fit: truncation of texts, splitting of sentences between words."""

import tensorflow as tf

from tf_adapt.errors import ConfigError


def truncate(segments: list[tf.RaggedTensor], limit: int) -> tuple[list, tf.Tensor]:
    """Cuts each row until its segments hold `limit` units together, special tokens not counted.

    One segment keeps its prefix. Of two, the longer loses its last unit (the second, if they are
    equally long) until both fit; here as a formula, with `h = ceil(limit / 2)`:
    `a' = min(a, max(h, limit - b))`, `b' = min(b, limit - a')`. Filling both in turns, one unit at
    a time, as TF Hub's modules do (round robin), ends at the same lengths.

    Shapes: segments `[batch, (units)]`, one or two → the same; cut `[batch] bool`.

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


def split_words(word_units: tf.RaggedTensor, budget: int) -> tf.RaggedTensor:
    """Splits each sentence of more than `budget` units between words; words keep their order.

    A word belongs to chunk `offset // (budget - longest + 1)` of its sentence: `offset` units stand
    before it, and the sentence's longest word has `longest` units, so that no chunk can hold more
    than `budget`. Only the row splits are new: the sentences' own row splits put anything computed
    per word together again. A word of more than `budget` units is for the caller to refuse or cut.

    Shapes: `[batch, (words), (units)]` → `[chunks, (words), (units)]`.
    """
    lengths = word_units.values.row_lengths()
    budget = tf.cast(budget, lengths.dtype)
    sentence_of_word = word_units.value_rowids()
    units_before = tf.cumsum(lengths, exclusive=True)
    sentence_lengths = tf.reduce_sum(word_units.with_values(lengths), axis=1)
    offset = units_before - tf.gather(tf.cumsum(sentence_lengths, exclusive=True), sentence_of_word)
    longest = tf.math.segment_max(lengths, sentence_of_word)
    width = tf.maximum(budget - tf.gather(longest, sentence_of_word) + 1, 1)
    too_long = tf.gather(sentence_lengths > budget, sentence_of_word)
    chunk = tf.where(too_long, offset // width, 0)
    same_sentence = sentence_of_word[1:] == sentence_of_word[:-1]
    starts = tf.where(same_sentence & (chunk[1:] != chunk[:-1]))[:, 0] + 1
    splits = tf.sort(tf.concat([starts, word_units.row_splits], axis=0))
    return tf.RaggedTensor.from_row_splits(word_units.values, splits)


def cut_words(word_units: tf.RaggedTensor, budget: int) -> tf.RaggedTensor:
    """Cuts each word to its first `budget` units: `[batch, (words), (units)]` → the same."""
    words = word_units.values
    limit = tf.cast(budget, words.row_splits.dtype)
    return word_units.with_values(_prefix(words, tf.minimum(words.row_lengths(), limit)))


def _prefix(segment: tf.RaggedTensor, lengths: tf.Tensor) -> tf.RaggedTensor:
    starts = segment.row_starts()
    kept = tf.ragged.range(starts, starts + lengths)
    return kept.with_values(tf.gather(segment.values, kept.values))
