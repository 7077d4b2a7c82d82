"""ELMo's inputs: the ids of a word's characters, which are its UTF-8 bytes."""

import tensorflow as tf

from hub_modules.preprocess.segments import truncate
from tf_adapt.errors import ConfigError

# Run-time ids of bilm-tf: a byte is its value + 1, so that 0 is free for padding words.
WORD_BEGIN, WORD_END, PAD_CHARACTER = 259, 260, 261
CHARACTERS_PER_WORD = 50
BYTES_PER_WORD = CHARACTERS_PER_WORD - 2


def character_ids(words: tf.Tensor) -> tf.Tensor:
    """Words `[words] string` → `[words, 50] int32`: begin, at most 48 bytes, end, pad characters.

    Source: bilm-tf, data.py; Peters et al. 2018, section 3.4.
    """
    # The bytes beyond the word are zeros here, and are told from real ones by the length.
    content = tf.io.decode_raw(words, tf.uint8, fixed_length=BYTES_PER_WORD)
    length = tf.minimum(tf.strings.length(words), BYTES_PER_WORD)[:, None]
    place = tf.range(BYTES_PER_WORD + 1)[None, :]
    content = tf.pad(tf.cast(content, tf.int32) + 1, [[0, 0], [0, 1]])
    tail = tf.where(place < length, content, tf.where(place == length, WORD_END, PAD_CHARACTER))
    return tf.pad(tail, [[0, 0], [1, 0]], constant_values=WORD_BEGIN)


class ElmoPreprocessor(tf.Module):
    """Text → words (split at white space) → character ids `[batch, time, 50]`.

    Sentence boundaries are the encoder's to add. A padding word is 50 zeros.
    """

    family = "elmo"

    def __init__(self):
        super().__init__(name="elmo_preprocessor")

    def special_tokens(self, num_segments: int) -> int:
        """None: the encoder adds the sentence boundaries."""
        return 0

    def tokenize(self, texts: tf.Tensor) -> tf.RaggedTensor:
        """`[batch] string` → words `[batch, (words)] string`, split at ASCII white space only."""
        return tf.strings.split(texts)

    def tokenize_words(self, words: tf.RaggedTensor) -> tf.RaggedTensor:
        """`[batch, (words)] string` → `[batch, (words), (1)]`: a word is one unit."""
        return words.with_values(tf.RaggedTensor.from_tensor(words.values[:, None]))

    def pack(self, segments: list[tf.RaggedTensor], length: int | None = None) -> dict:
        """One segment `[batch, (words)]` → `character_ids` `[batch, time, 50] int32`.

        Padded to the longest row, at least one word, or to `length`.

        Raises:
            ConfigError: more than one segment; ELMo reads the texts of a pair apart.
            tf.errors.InvalidArgumentError: a row is longer than `length`.
        """
        words, time = _one_segment(segments, length)
        ids = words.with_values(character_ids(words.values))
        shape = tf.stack([words.nrows(), tf.cast(time, tf.int64), CHARACTERS_PER_WORD])
        width = length if isinstance(length, int) else None
        dense = tf.ensure_shape(ids.to_tensor(shape=shape), [None, width, CHARACTERS_PER_WORD])
        return {"character_ids": dense}

    def pack_words(self, word_units: tf.RaggedTensor) -> dict:
        """`[batch, (words), (1)]` → as `pack`."""
        return self.pack([word_units.merge_dims(1, 2)])

    def truncate(self, segments: list[tf.RaggedTensor], limit: int) -> tuple[list, tf.Tensor]:
        """See `hub_modules.preprocess.truncate`."""
        return truncate(segments, limit)


class ElmoTokensPreprocessor(ElmoPreprocessor):
    """The same for a module that reads words: `tokens` and `sequence_len` of google/elmo."""

    def pack(self, segments: list[tf.RaggedTensor], length: int | None = None) -> dict:
        """One segment → `tokens` `[batch, time] string`, padded with "", `sequence_len` `[batch]`.

        Raises:
            ConfigError, tf.errors.InvalidArgumentError: as `ElmoPreprocessor.pack`.
        """
        words, time = _one_segment(segments, length)
        shape = tf.stack([words.nrows(), tf.cast(time, tf.int64)])
        tokens = tf.ensure_shape(words.to_tensor(shape=shape), [None, None])
        return {"tokens": tokens, "sequence_len": tf.cast(words.row_lengths(), tf.int32)}


def _one_segment(segments: list[tf.RaggedTensor], length) -> tuple[tf.RaggedTensor, tf.Tensor]:
    """The segment, and the words to pad it to."""
    if len(segments) != 1:
        raise ConfigError(
            f"ELMo reads one text at a time: expected 1 segment, got {len(segments)}; "
            "pack the texts of a pair one by one"
        )
    lengths = tf.cast(segments[0].row_lengths(), tf.int32)
    if length is None:
        return segments[0], tf.reduce_max(tf.concat([lengths, [1]], axis=0))
    length = tf.cast(length, tf.int32)
    message = "pack: a row has more words than `length`; truncate it first"
    with tf.control_dependencies([tf.debugging.assert_less_equal(lengths, length, message)]):
        return segments[0], tf.identity(length)
