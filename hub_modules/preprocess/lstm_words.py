"""The inputs of an AWD-LSTM: words in fast.ai's form, as numbers of their rows."""

from collections.abc import Sequence

import tensorflow as tf

from hub_modules.preprocess.lower_case import lower_case_utf8
from hub_modules.preprocess.segments import one_segment
from hub_modules.preprocess.whole_texts import pack_texts

UNKNOWN_WORD, PADDING_WORD, BEGIN_WORD = "xxunk", "xxpad", "xxbos"
CAPITALISED, CAPITALS = "xxmaj", "xxup"
# Rows of a module's embeddings: the vocabulary begins with these two words.
PADDING, UNKNOWN = 0, 1

# An apostrophe that stays inside its word, until all others are parted.
_KEPT = "\ue000"
# What parts a text into words, one after the other, in RE2's language. After spaCy's rules for
# English: contractions, hyphens between letters and most punctuation are words of their own.
_SPLITS = (
    (rf"[\pZ{_KEPT}]", " "),
    ("’", "'"),
    (r"\.\.\.", " … "),
    (r"(\pL)([nN])'([tT])($|[^\pL\pN])", rf"\1 \2{_KEPT}\3\4"),
    (r"(^|\s)([nN])'([tT])($|[^\pL\pN])", rf"\1\2{_KEPT}\3\4"),
    (r"(^|[\pL\pN\s])'((?i:s|re|ve|ll|d|m))($|[^\pL\pN])", rf"\1 {_KEPT}\2\3"),
    (r"(\pL)'(\pL)", rf"\1{_KEPT}\2"),
    (r"(\pL)'(\pL)", rf"\1{_KEPT}\2"),  # matches do not overlap: a'b'c
    (rf"([^\pL\pN\pM\s{_KEPT}.,_\-])", r" \1 "),
    (r"(\pL)([,\-])(\pL)", r"\1 \2 \3"),
    (r"(\pL)([,\-])(\pL)", r"\1 \2 \3"),
    (r"(\pN)-(\pN)", r"\1 - \2"),
    (r"(\pN)-(\pN)", r"\1 - \2"),
    (rf"([\pL\pN\pM{_KEPT}])([.,]+)(\s|$)", r"\1 \2\3"),
    (_KEPT, "'"),
)


class LstmPreprocessor(tf.Module):
    """Text → words → ids; the vocabulary is exported with it.

    A text is parted into words close to spaCy's rules for English (not equal: abbreviations lose
    their last point). Words are lower-cased; `xxmaj` stands before a capitalised word, `xxup`
    before one of several capitals, `xxbos` at the start of a text, each where the vocabulary has
    it.

    Args:
        words: the vocabulary by id: padding, the unknown word, then all others, each once.
        lower_case: False: words are looked up as they are, without `xxmaj` and `xxup`.

    Source: fast.ai 1, `text/transform.py`, but for repetitions (`xxrep`, `xxwrep`). Its second
    version puts `xxmaj` only before words of ASCII letters that follow a blank.
    """

    splits_at_punctuation = True

    def __init__(self, words: Sequence[str], lower_case: bool = True):
        super().__init__(name="lstm_preprocessor")
        self.lower_case = lower_case
        ids = {word: number for number, word in enumerate(words)}
        self.begin_id = ids.get(BEGIN_WORD)
        self._markers = {name: ids.get(name) for name in (CAPITALISED, CAPITALS)}
        # On the CPU, where the input pipeline runs: strings are on no other device.
        with tf.device("CPU:0"):
            # A word of a text that is spelt as the padding is none.
            entries = tf.lookup.KeyValueTensorInitializer(
                tf.constant(list(words)[1:]), tf.range(1, len(words))
            )
            self._table = tf.lookup.StaticHashTable(entries, default_value=UNKNOWN)

    def __call__(self, texts, max_length: int | None = None, truncate: bool = False) -> dict:
        """Texts → the encoder's inputs, tokenized and packed: see `pack_texts`."""
        return pack_texts(self, texts, max_length, truncate)

    def special_tokens(self, num_segments: int) -> int:
        """The begins of texts, where the vocabulary has one."""
        return 0 if self.begin_id is None else num_segments

    def tokenize(self, texts: tf.Tensor) -> tf.RaggedTensor:
        """`[batch] string` → ids `[batch, (tokens)] int32`."""
        return self._with_markers(split_words(texts)).merge_dims(1, 2)

    def tokenize_words(self, words: tf.RaggedTensor) -> tf.RaggedTensor:
        """`[batch, (words)] string` → `[batch, (words), (tokens)] int32`: a word is one token,
        perhaps behind its marker. It is not parted."""
        return self._with_markers(words)

    def pack(self, segments: list[tf.RaggedTensor], length: int | None = None) -> dict:
        """One segment `[batch, (tokens)]` → `word_ids` `[batch, time] int32`.

        Padded to the longest row, at least one word, or to `length`.

        Raises:
            ConfigError: more than one segment; the texts of a pair are encoded separately.
            tf.errors.InvalidArgumentError: a row is longer than `length`.
        """
        segments = [self._with_begin(segment) for segment in segments]
        words, time = one_segment(segments, length, "an encoder of the family lstm")
        shape = tf.stack([words.nrows(), tf.cast(time, tf.int64)])
        ids = words.to_tensor(PADDING, shape=shape)
        return {"word_ids": tf.ensure_shape(ids, [None, length if type(length) is int else None])}

    def pack_words(self, word_tokens: tf.RaggedTensor) -> dict:
        """As `pack`, with `first_piece` `[batch, words] int32`: the position of each word's first
        token (its marker, if it has one), −1 at padding."""
        splits = word_tokens.values.row_splits
        starts = tf.gather(splits, word_tokens.row_starts())
        offsets = splits[:-1] - tf.gather(starts, word_tokens.value_rowids())
        places = tf.cast(offsets, tf.int32) + self.special_tokens(1)
        first = word_tokens.with_values(places).to_tensor(-1)
        return self.pack([word_tokens.merge_dims(1, 2)]) | {"first_piece": first}

    def _with_begin(self, segment: tf.RaggedTensor) -> tf.RaggedTensor:
        if self.begin_id is None:
            return segment
        begin = tf.fill([segment.nrows(), 1], tf.cast(self.begin_id, segment.dtype))
        return tf.concat([begin, segment], axis=1)

    def _with_markers(self, words: tf.RaggedTensor) -> tf.RaggedTensor:
        """`[batch, (words)] string` → `[batch, (words), (tokens)] int32`."""
        given = words.values
        if not self.lower_case:
            ids = self._table.lookup(given)
            return words.with_values(tf.RaggedTensor.from_tensor(ids[:, None]))
        lower = lower_case_utf8(given)
        upper = tf.strings.upper(given, encoding="utf-8")
        rest = tf.strings.regex_replace(given, r"^(?s:.)", "")
        is_long = tf.strings.length(rest) > 0
        capitals = (given == upper) & (upper != lower) & is_long
        lower_rest = lower_case_utf8(rest)
        begins = tf.strings.regex_full_match(given, r"\p{Lu}(?s:.*)")
        has_letters = lower_rest != tf.strings.upper(rest, encoding="utf-8")
        capitalised = begins & (rest == lower_rest) & has_letters
        marker = tf.fill(tf.shape(given), -1)
        for name, applies in ((CAPITALISED, capitalised), (CAPITALS, capitals)):
            if self._markers[name] is not None:
                marker = tf.where(applies, self._markers[name], marker)
        pairs = tf.stack([marker, self._table.lookup(lower)], axis=1)
        return words.with_values(tf.ragged.boolean_mask(pairs, pairs >= 0))


def split_words(texts: tf.Tensor) -> tf.RaggedTensor:
    """A text as words: `[batch] string` → `[batch, (words)] string`."""
    for pattern, replacement in _SPLITS:
        texts = tf.strings.regex_replace(texts, pattern, replacement)
    return tf.strings.split(texts)
