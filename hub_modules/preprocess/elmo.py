"""ELMo's inputs: character ids, one for each UTF-8 byte of a word."""

import tensorflow as tf

from hub_modules.preprocess.segments import one_segment
from hub_modules.preprocess.whole_texts import pack_texts

# Run-time ids of bilm-tf: a byte's id is its value + 1, so that 0 is free for padding words.
WORD_BEGIN, WORD_END, PAD_CHARACTER = 259, 260, 261
CHARACTERS_PER_WORD = 50
BYTES_PER_WORD = CHARACTERS_PER_WORD - 2


def character_ids(words: tf.Tensor) -> tf.Tensor:
    """Words `[words] string` → `[words, 50] int32`: begin, at most 48 bytes, end, pad characters.

    Source: bilm-tf, data.py; Peters et al. 2018, section 3.4.
    """
    # Bytes after the word are zeros here; the length tells them from NUL characters.
    content = tf.io.decode_raw(words, tf.uint8, fixed_length=BYTES_PER_WORD)
    length = tf.minimum(tf.strings.length(words), BYTES_PER_WORD)[:, None]
    index = tf.range(BYTES_PER_WORD + 1)[None, :]
    content = tf.pad(tf.cast(content, tf.int32) + 1, [[0, 0], [0, 1]])
    tail = tf.where(index < length, content, tf.where(index == length, WORD_END, PAD_CHARACTER))
    return tf.pad(tail, [[0, 0], [1, 0]], constant_values=WORD_BEGIN)


class ElmoPreprocessor(tf.Module):
    """Text → words (split at white space) → character ids `[batch, time, 50]`.

    The encoder adds sentence boundaries. A padding word is 50 zeros.
    """

    splits_at_punctuation = False

    def __init__(self):
        super().__init__(name="elmo_preprocessor")

    def __call__(self, texts, max_length: int | None = None, truncate: bool = False) -> dict:
        """Texts → the encoder's inputs, tokenized and packed: see `pack_texts`."""
        return pack_texts(self, texts, max_length, truncate)

    def special_tokens(self, num_segments: int) -> int:
        """0: the encoder adds the sentence boundaries."""
        return 0

    def tokenize(self, texts: tf.Tensor) -> tf.RaggedTensor:
        """`[batch] string` → words `[batch, (words)] string`, split at ASCII white space only."""
        return tf.strings.split(texts)

    def tokenize_words(self, words: tf.RaggedTensor) -> tf.RaggedTensor:
        """`[batch, (words)] string` → `[batch, (words), (1)]`: a word is one token."""
        return words.with_values(tf.RaggedTensor.from_tensor(words.values[:, None]))

    def pack(self, segments: list[tf.RaggedTensor], length: int | None = None) -> dict:
        """One segment `[batch, (words)]` → `character_ids` `[batch, time, 50] int32`.

        Padded to the longest row, at least one word, or to `length`.

        Raises:
            ConfigError: more than one segment; ELMo encodes the texts of a pair separately.
            tf.errors.InvalidArgumentError: a row is longer than `length`.
        """
        words, time = one_segment(segments, length, "ELMo")
        ids = words.with_values(character_ids(words.values))
        shape = tf.stack([words.nrows(), tf.cast(time, tf.int64), CHARACTERS_PER_WORD])
        width = length if isinstance(length, int) else None
        dense = tf.ensure_shape(ids.to_tensor(shape=shape), [None, width, CHARACTERS_PER_WORD])
        return {"character_ids": dense}

    def pack_words(self, word_tokens: tf.RaggedTensor) -> dict:
        """`[batch, (words), (1)]` → as `pack`."""
        return self.pack([word_tokens.merge_dims(1, 2)])


class ElmoTokensPreprocessor(ElmoPreprocessor):
    """The same for a module with words as input: `tokens` and `sequence_len` of google/elmo."""

    def pack(self, segments: list[tf.RaggedTensor], length: int | None = None) -> dict:
        """One segment → `tokens` `[batch, time] string`, padded with "", `sequence_len` `[batch]`.

        Raises:
            ConfigError, tf.errors.InvalidArgumentError: as `ElmoPreprocessor.pack`.
        """
        words, time = one_segment(segments, length, "ELMo")
        shape = tf.stack([words.nrows(), tf.cast(time, tf.int64)])
        tokens = tf.ensure_shape(words.to_tensor(shape=shape), [None, None])
        return {"tokens": tokens, "sequence_len": tf.cast(words.row_lengths(), tf.int32)}
