"""Sentences of words to tokens: long ones are split, and may be read within their document."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import tensorflow as tf

from hub_modules.preprocess import cut_words, split_words
from tf_adapt.data.formats import TaggedSentence, check_text
from tf_adapt.data.formats.records import check_length
from tf_adapt.data.packing.context import context_windows, document_splits
from tf_adapt.data.packing.lengths import in_chunks, long_words, refuse_long, refuse_long_words
from tf_adapt.data.packing.prepared import Limits, PreparedData
from tf_adapt.data.packing.targets import tag_ids
from tf_adapt.tasks.task import Task


def prepare_tagging(
    sentences: Sequence[TaggedSentence], task: Task, encoder: Any, limits: Limits
) -> PreparedData:
    """The rows of all sentences, or of parts of those that are too long.

    Raises:
        DataError: a word or a tag is wrong, or a word is too long.
    """
    preprocessor = encoder.preprocessor
    _check_words(sentences)
    parts = [_word_tokens(preprocessor, some) for some in in_chunks(sentences)]
    tokens = tf.concat(parts, axis=0)
    budget = limits.tokens - preprocessor.special_tokens(1)
    word_lengths = tokens.values.row_lengths().numpy()
    too_long = long_words(sentences, preprocessor.splits_at_punctuation)
    if not limits.may_cut:
        refuse_long_words(too_long)
        places = partial(_place_of_word, sentences, tokens.row_splits.numpy())
        refuse_long(word_lengths, budget, limits.tokens, places, "one word of ")
    sentence_of_word = tokens.value_rowids().numpy()
    cut = set(sentence_of_word[word_lengths > budget].tolist()) | set(too_long)
    chunks = split_words(cut_words(tokens, budget), budget)
    targets = tag_ids(sentences, task)
    if targets is not None:
        targets = tf.RaggedTensor.from_row_splits(targets, chunks.row_splits)
    windows, lengths = None, chunks.merge_dims(1, 2).row_lengths()
    if limits.document_context:
        documents = document_splits(sentences, tokens.row_splits.numpy())
        windows = context_windows(chunks, documents, budget)
        lengths = windows[:, 1] - windows[:, 0]
    return PreparedData(
        preprocessor=preprocessor,
        segments=[chunks],
        joint=True,
        lengths=lengths.numpy() + limits.tokens - budget,
        uncut_lengths=tokens.merge_dims(1, 2).row_lengths().numpy() + limits.tokens - budget,
        targets=targets,
        truncated=len(cut),
        sentence_splits=tokens.row_splits.numpy(),
        windows=windows,
    )


def _check_words(sentences: Sequence[TaggedSentence]) -> None:
    for sentence in sentences:
        check_length(sum(map(len, sentence.words)), sentence.where, "words")
        for index, word in enumerate(sentence.words):
            if "\0" in word or not word.isprintable() or not word.strip():
                check_text(word, sentence.place_of(index), "words")


def _word_tokens(preprocessor: Any, sentences: Sequence[TaggedSentence]) -> tf.RaggedTensor:
    """`[sentences, (words), (tokens)]`."""
    words = tf.constant([word for sentence in sentences for word in sentence.words])
    lengths = [len(sentence.words) for sentence in sentences]
    return preprocessor.tokenize_words(tf.RaggedTensor.from_row_lengths(words, lengths))


def _place_of_word(sentences: Sequence[TaggedSentence], splits: np.ndarray, word: int) -> str:
    """The location of a word; `splits` are the row splits of the sentences over all words."""
    sentence = int(np.searchsorted(splits, word, side="right")) - 1
    return sentences[sentence].place_of(int(word - splits[sentence]))
