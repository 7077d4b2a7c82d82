"""WordPiece in the graph by HuggingFace's rules or keras-hub's, where they are not the original's.

`BertPreprocessor` by itself has those of tensorflow-text: lower-casing and stripping of accents go
together, Chinese characters are words, and a word has at most 100 bytes.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import tensorflow as tf
import tensorflow_text

from hub_modules.preprocess.added_tokens import AddedTokens
from hub_modules.preprocess.lower_case import lower_case_utf8

UNKNOWN = "[UNK]"
_PUNCTUATION = r"[!-/:-@\[-`{-~\p{P}]"
# The blocks of google-research/bert, `tokenization.py`.
_CHINESE = (
    r"[\x{3400}-\x{4DBF}\x{4E00}-\x{9FFF}\x{F900}-\x{FAFF}\x{20000}-\x{2A6DF}\x{2A700}-\x{2B73F}"
    r"\x{2B740}-\x{2B81F}\x{2B820}-\x{2CEAF}\x{2F800}-\x{2FA1F}]"
)
# HuggingFace's library begins one block later than the original.
_HUGGINGFACE_CHINESE = _CHINESE.replace(r"\x{2B820}", r"\x{2B920}")
_REMOVED = r"[\x00-\x08\x0B\x0C\x0E-\x1F\x7F-\x{9F}\x{FFFD}\p{Cf}\p{Co}]"
_BLANKS = r"[\t\n\r\p{Z}]+"
_KERAS_HUB_BLANKS = r"\s|\p{Cc}|\p{Cf}"
_BYTES_OF_A_CHARACTER = 4

Change = Callable[[tf.Tensor], tf.Tensor]


@dataclass(frozen=True)
class WordRules:
    """How a text becomes words.

    Attributes:
        normalize: texts `[batch] string` → the same, before they are split.
        between: a regular expression of what lies between words.
        alone: of what is a word by itself.
        change: words `[words] string` → the same, after the split.
        longest: most bytes of a word; a longer one is unknown.
        longest_characters: most characters of a word, or None.
    """

    normalize: Change
    between: str
    alone: str
    change: Change = tf.identity
    longest: int = 100
    longest_characters: int | None = None


def huggingface_rules(
    lower_case: bool, strip_accents: bool, split_chinese: bool = True, longest: int = 100
) -> WordRules:
    """The rules of HuggingFace's `BertNormalizer` and `BertPreTokenizer`.

    Args:
        longest: most characters of a word.

    Source: HuggingFace tokenizers, `normalizers/bert.rs`, `pre_tokenizers/bert.rs`.
    """

    def normalize(texts: tf.Tensor) -> tf.Tensor:
        texts = tf.strings.regex_replace(texts, _REMOVED, "")
        texts = _without_accents(texts) if strip_accents else texts
        # Character by character, as there: no sigma is a final one.
        return lower_case_utf8(tf.strings.regex_replace(texts, "Σ", "σ")) if lower_case else texts

    return WordRules(
        normalize=normalize,
        between=_BLANKS,
        alone=f"{_PUNCTUATION}|{_HUGGINGFACE_CHINESE}" if split_chinese else _PUNCTUATION,
        longest=_BYTES_OF_A_CHARACTER * longest,
        longest_characters=longest,
    )


def keras_hub_rules(lower_case: bool, strip_accents: bool, split_chinese: bool = True) -> WordRules:
    """The rules of keras-hub's `WordPieceTokenizer`.

    Source: keras-hub, `tokenizers/word_piece_tokenizer.py`.
    """
    return WordRules(
        normalize=_without_accents if strip_accents else tf.identity,
        between=_KERAS_HUB_BLANKS,
        alone=f"{_PUNCTUATION}|{_CHINESE}" if split_chinese else _PUNCTUATION,
        change=tensorflow_text.case_fold_utf8 if lower_case else tf.identity,
    )


class WordPieceTokenizer(tf.Module):
    """Texts → words by `rules` → ids of word pieces.

    Args:
        vocabulary: word pieces in the order of their ids.
        added: tokens that are found before a text is split.

    Raises:
        ValueError, RuntimeError: tensorflow-text cannot use the vocabulary.
    """

    def __init__(self, vocabulary: Sequence[str], rules: WordRules, added: AddedTokens):
        super().__init__(name="word_pieces")
        self._rules = rules
        self._added = added
        self._pieces = tensorflow_text.FastWordpieceTokenizer(
            vocab=list(vocabulary),
            max_bytes_per_word=rules.longest,
            token_out_type=tf.int32,
            unknown_token=UNKNOWN,
            no_pretokenization=True,
            support_detokenization=False,
        )

    def tokenize(self, texts: tf.Tensor) -> tf.RaggedTensor:
        """`[batch] string` → ids of pieces `[batch, (pieces)] int32`."""
        return self._added.tokenize(texts, self._rules.normalize, self._tokenize)

    def _tokenize(self, texts: tf.Tensor) -> tf.RaggedTensor:
        rules = self._rules
        words = tensorflow_text.regex_split(texts, f"{rules.between}|{rules.alone}", rules.alone)
        changed = rules.change(words.values)
        if rules.longest_characters is not None:
            too_long = tf.strings.length(changed, unit="UTF8_CHAR") > rules.longest_characters
            changed = tf.where(too_long, "x" * (rules.longest + 1), changed)
        return words.with_values(self._pieces.tokenize(changed)).merge_dims(1, 2)


def _without_accents(texts: tf.Tensor) -> tf.Tensor:
    return tf.strings.regex_replace(tensorflow_text.normalize_utf8(texts, "NFD"), r"\p{Mn}", "")
