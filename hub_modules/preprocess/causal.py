"""A causal transformer's inputs: byte-level BPE ids, packed texts, each word's first piece."""

import functools
from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from hub_modules.native.untracked import Untracked
from hub_modules.preprocess.byte_pairs import BytePairTokenizer, piece_bytes
from hub_modules.preprocess.pieces import PiecePreprocessor

END = "<|endoftext|>"


class CausalPreprocessor(PiecePreprocessor):
    """Text → byte-level BPE ids → the encoder's inputs, in BERT's form; the vocabulary is exported
    with it.

    `<|endoftext|>`, GPT-2's one special token, stands at the start, between the texts of a pair,
    and at the end, where its state has seen the whole row. It is padding too, which the mask hides.
    In a text it is read letter by letter.

    Args:
        vocabulary: pieces in the order of their ids.
        merges: see `BytePairTokenizer`.
        classification_token: the last token of a row is a new one, whose id follows the
            vocabulary's, instead of `<|endoftext|>`.
        rows: of the encoder's word embeddings without new ones; by default the vocabulary's size.

    Source: Radford et al. 2018, "GPT", section 3.3; Radford et al. 2019, section 2.2.
    """

    splits_at_punctuation = False

    def __init__(
        self,
        vocabulary: Sequence[str],
        merges: Sequence[str],
        classification_token: bool = False,
        rows: int | None = None,
    ):
        ids = {piece: number for number, piece in enumerate(vocabulary)}
        end = ids[END]
        special = {
            "vocab_size": len(vocabulary),
            "padding_id": end,
            "start_of_sequence_id": end,
            "end_of_segment_id": end,
        }
        tokenizer = BytePairTokenizer(ids, merges, unknown_id=end)
        super().__init__(tokenizer, special, end, doubled=False, blank=" ")
        self.vocabulary, self.merges = Untracked(list(vocabulary)), Untracked(list(merges))
        self.classification_id = None
        if classification_token:
            self.classification_id = len(vocabulary) if rows is None else rows

    @functools.cached_property
    def _bytes(self) -> np.ndarray:
        """Of each piece; of ids behind the vocabulary, and of END, none."""
        pieces = [b"" if piece == END else piece_bytes(piece) for piece in self.vocabulary.value]
        return np.array([*pieces, b""], dtype=object)

    def detokenize(self, ids: tf.Tensor) -> tf.Tensor:
        """`[batch, time] int32` → texts `[batch] string`, in which special tokens leave no trace.

        Bytes that are no character may be at the begin and the end of a text that was cut there.
        """
        known = tf.minimum(ids, len(self.vocabulary.value))
        return tf.strings.reduce_join(tf.gather(tf.constant(self._bytes), known), axis=-1)

    def pack(self, segments: list[tf.RaggedTensor], length: int | None = None) -> dict:
        """`<|endoftext|> a <|endoftext|>`, pairs with ` b <|endoftext|>` behind; the last token is
        the classification token where there is one: see `pack_segments`."""
        return self._with_last(super().pack(segments, length))

    def pack_words(self, word_pieces: tf.RaggedTensor) -> dict:
        """As `pack`, with the position of each word's first piece: see `pack_word_pieces`."""
        return self._with_last(super().pack_words(word_pieces))

    def _with_last(self, packed: dict) -> dict:
        if self.classification_id is None:
            return packed
        ids, mask = packed["input_word_ids"], packed["input_mask"]
        is_last = tf.range(1, tf.shape(mask)[1] + 1) == tf.reduce_sum(mask, axis=1)[:, None]
        return packed | {"input_word_ids": tf.where(is_last, self.classification_id, ids)}
