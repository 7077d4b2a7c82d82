"""Document context for tagging: BERT encodes a sentence together with its neighbours."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from hub_modules.preprocess.bert import pack_words_at
from tf_adapt.data.formats import TaggedSentence


def document_splits(sentences: Sequence[TaggedSentence], word_splits: np.ndarray) -> np.ndarray:
    """Row splits of the documents over all words; `word_splits` are those of the sentences.

    Consecutive sentences with the same `document` form one document; so do all sentences of a CoNLL
    file without `-DOCSTART-` lines.
    """
    numbers = np.array([sentence.document for sentence in sentences])
    firsts = np.flatnonzero(numbers[1:] != numbers[:-1]) + 1
    return word_splits[np.concatenate([[0], firsts, [len(numbers)]])]


def context_windows(
    chunks: tf.RaggedTensor, document_word_splits: np.ndarray | tf.Tensor, budget: int
) -> tf.Tensor:
    """The window of word pieces that is encoded for each sentence (or part of one).

    A window holds as many pieces of the document as `budget` allows, half of the context on each
    side; at an end of the document, the other side gets the rest. With the sentence's pieces
    `[s, e)` in a document `[ds, de)` and `extra = budget − (e − s)`:
    `left = min(s − ds, max(extra // 2, extra − (de − e)))`, `right = min(de − e, extra − left)`.
    Windows are cut between pieces, not words: a word at the edge of a window may be incomplete.

    Shapes: chunks `[chunks, (words), (pieces)]`, each of at most `budget` pieces → `[chunks, 2]`,
    the first piece of the window and the one after its last, as indices into all pieces.
    """
    piece_splits = chunks.values.row_splits
    documents = tf.cast(document_word_splits, piece_splits.dtype)
    number = tf.searchsorted(documents, chunks.row_starts(), side="right") - 1
    # A chunk without words may come after the last word of all.
    number = tf.minimum(number, tf.size(documents) - 2)
    first, end = tf.gather(documents, number), tf.gather(documents, number + 1)
    # From word indices to piece indices.
    starts, ends, first, end = (
        tf.gather(piece_splits, words)
        for words in (chunks.row_starts(), chunks.row_limits(), first, end)
    )
    before, after = starts - first, end - ends
    extra = tf.cast(budget, starts.dtype) - (ends - starts)
    left = tf.minimum(before, tf.maximum(extra // 2, extra - after))
    right = tf.minimum(after, extra - left)
    return tf.stack([starts - left, ends + right], axis=1)


def pack_windows(
    preprocessor: Any, chunks: tf.RaggedTensor, windows: tf.Tensor, index: tf.Tensor
) -> dict:
    """BERT's inputs for the windows of the chunks at `index`.

    Shapes: chunks `[chunks, (words), (pieces)]`, windows `[chunks, 2]` (see `context_windows`),
    index `[batch]` → as `pack_word_pieces`, with the chunk's own words in `first_piece`, without
    those of its neighbours.
    """
    starts, ends = tf.unstack(tf.gather(windows, index), num=2, axis=1)
    positions = tf.ragged.range(starts, ends)
    pieces = positions.with_values(tf.gather(chunks.flat_values, positions.values))
    words = tf.gather(chunks.with_values(chunks.values.row_starts()), index)
    offsets = words.values - tf.gather(starts, words.value_rowids())
    return pack_words_at(pieces, words.with_values(offsets), preprocessor.special_token_ids)
