"""BERT's inputs from any subword tokenizer: packing, truncation, the first piece of each word."""

from typing import Any

import tensorflow as tf

from hub_modules.preprocess.added_tokens import AddedTokens
from hub_modules.preprocess.bert import fill_empty, pack_segments, pack_word_pieces
from hub_modules.preprocess.whole_texts import pack_texts


class PiecePreprocessor(tf.Module):
    """Text → pieces → BERT's inputs, as `BertPreprocessor`, with another tokenizer.

    In tagging each word is tokenized as after a blank, which belongs to its first piece.

    Args:
        tokenizer: a `BytePairTokenizer` or a `SentencePieceTokenizer`.
        special_token_ids: `padding_id`, `start_of_sequence_id`, `end_of_segment_id`,
            `vocab_size`, and `mask_id` if there is one.
        unknown_id: for a word without pieces.
        doubled: see `pack_segments`.
        blank: what is put before each word in tagging, where the tokenizer does not.
        prefixed: whether it is put before a text too that does not begin with it.
        added: tokens that are found before a text is split.
    """

    splits_at_punctuation = True

    def __init__(
        self,
        tokenizer: Any,
        special_token_ids: dict[str, int],
        unknown_id: int,
        doubled: bool,
        blank: str = "",
        prefixed: bool = False,
        added: AddedTokens | None = None,
    ):
        super().__init__(name="piece_preprocessor")
        self._tokenizer = tokenizer
        self.special_token_ids = special_token_ids
        self.unknown_id = unknown_id
        self.doubled = doubled
        self.blank = blank
        self.prefixed = prefixed
        self._added = added or AddedTokens({}, {})

    def __call__(self, texts, max_length: int | None = None, truncate: bool = False) -> dict:
        """Texts → the encoder's inputs, tokenized and packed: see `pack_texts`."""
        return pack_texts(self, texts, max_length, truncate)

    def special_tokens(self, num_segments: int) -> int:
        """Number of special tokens in a row of `num_segments` segments."""
        return num_segments + 1 + (num_segments - 1 if self.doubled else 0)

    def tokenize(self, texts: tf.Tensor) -> tf.RaggedTensor:
        """`[batch] string` → piece ids `[batch, (pieces)] int32`, without special tokens."""
        return self._added.tokenize(texts, self._tokenizer.normalize, self._tokenize_texts)

    def tokenize_words(self, words: tf.RaggedTensor) -> tf.RaggedTensor:
        """`[batch, (words)] string` → `[batch, (words), (pieces)] int32`, no word empty."""
        pieces = self._added.tokenize(words.values, self._tokenizer.normalize, self._tokenize_words)
        return words.with_values(fill_empty(pieces, self.unknown_id))

    def group_words(self, pieces: tf.RaggedTensor) -> tf.RaggedTensor:
        """`[batch, (pieces)]` → `[batch, (words), (pieces)]`, with each piece as a word: where a
        word begins does not show in bytes."""
        return pieces.with_values(tf.RaggedTensor.from_tensor(pieces.values[:, None]))

    def _tokenize_texts(self, texts: tf.Tensor) -> tf.RaggedTensor:
        if self.prefixed:
            texts = tf.strings.regex_replace(texts, "^([^ ])", r" \1")
        return self._tokenizer.tokenize_normalized(texts)

    def _tokenize_words(self, words: tf.Tensor) -> tf.RaggedTensor:
        return self._tokenizer.tokenize_normalized(tf.strings.join([self.blank, words]))

    def pack(self, segments: list[tf.RaggedTensor], length: int | None = None) -> dict:
        """See `pack_segments`."""
        return pack_segments(segments, self.special_token_ids, length, self.doubled)

    def pack_words(self, word_pieces: tf.RaggedTensor) -> dict:
        """See `hub_modules.preprocess.bert.pack_word_pieces`."""
        return pack_word_pieces(word_pieces, self.special_token_ids)
