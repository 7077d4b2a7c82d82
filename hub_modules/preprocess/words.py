"""The inputs of word vectors: words, split at white space, as numbers of their rows."""

from collections.abc import Sequence

import tensorflow as tf

from hub_modules.preprocess.lower_case import lower_case_utf8
from hub_modules.preprocess.segments import one_segment
from hub_modules.preprocess.whole_texts import pack_texts

PADDING, UNKNOWN, FIRST = 0, 1, 2


class WordsPreprocessor(tf.Module):
    """Text → words (split at ASCII white space) → ids; the vocabulary is exported with it.

    0 is padding, 1 an unknown word, the ids of the vocabulary's words follow in its order.

    Args:
        words: the vocabulary, each word once.
        lower_case: whether text is lower-cased before the look-up.
    """

    splits_at_punctuation = False

    def __init__(self, words: Sequence[str], lower_case: bool):
        super().__init__(name="words_preprocessor")
        self.lower_case = lower_case
        # On the CPU, where the input pipeline runs: strings are on no other device.
        with tf.device("CPU:0"):
            ids = tf.range(FIRST, FIRST + len(words))
            entries = tf.lookup.KeyValueTensorInitializer(tf.constant(list(words)), ids)
            self._table = tf.lookup.StaticHashTable(entries, default_value=UNKNOWN)

    def __call__(self, texts, max_length: int | None = None, truncate: bool = False) -> dict:
        """Texts → the encoder's inputs, tokenized and packed: see `pack_texts`."""
        return pack_texts(self, texts, max_length, truncate)

    def special_tokens(self, num_segments: int) -> int:
        """0: there are none."""
        return 0

    def tokenize(self, texts: tf.Tensor) -> tf.RaggedTensor:
        """`[batch] string` → ids `[batch, (words)] int32`."""
        words = tf.strings.split(texts)
        return words.with_values(self._ids(words.values))

    def tokenize_words(self, words: tf.RaggedTensor) -> tf.RaggedTensor:
        """`[batch, (words)] string` → `[batch, (words), (1)] int32`: a word is one token."""
        ids = self._ids(words.values)
        return words.with_values(tf.RaggedTensor.from_tensor(ids[:, None]))

    def pack(self, segments: list[tf.RaggedTensor], length: int | None = None) -> dict:
        """One segment `[batch, (words)]` → `word_ids` `[batch, time] int32`.

        Padded to the longest row, at least one word, or to `length`.

        Raises:
            ConfigError: more than one segment; the texts of a pair are encoded separately.
            tf.errors.InvalidArgumentError: a row is longer than `length`.
        """
        words, time = one_segment(segments, length, "an encoder of word vectors")
        shape = tf.stack([words.nrows(), tf.cast(time, tf.int64)])
        ids = words.to_tensor(PADDING, shape=shape)
        return {"word_ids": tf.ensure_shape(ids, [None, length if type(length) is int else None])}

    def pack_words(self, word_tokens: tf.RaggedTensor) -> dict:
        """`[batch, (words), (1)]` → as `pack`."""
        return self.pack([word_tokens.merge_dims(1, 2)])

    def _ids(self, words: tf.Tensor) -> tf.Tensor:
        words = lower_case_utf8(words) if self.lower_case else words
        return self._table.lookup(words)
