"""Sentences of words in the graph: a tag and its probabilities for each word."""

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from hub_modules.preprocess import cut_words, split_words
from tf_adapt.data.packing.context import context_windows, pack_windows
from tf_adapt.data.packing.last_pieces import with_last_piece
from tf_adapt.data.packing.prepared import Limits
from tf_adapt.serving.exports.length_check import length_check
from tf_adapt.tasks.task import Task


def of_tokens(answer: Callable) -> Callable:
    """A signature of sentences of words."""
    return lambda tokens: answer({"tokens": tokens})


def words_of(texts: dict) -> tf.RaggedTensor:
    """`[batch, words] string` without the padding, which is at the end of a row: a row's length is
    the position of its last real word."""
    tokens = texts["tokens"]
    places = tf.range(1, tf.shape(tokens)[1] + 1)
    lengths = tf.reduce_max(tf.where(tokens == "", 0, places), axis=1)
    return tf.RaggedTensor.from_tensor(tokens, lengths=lengths)


def packed(words: tf.RaggedTensor, preprocessor: Any, joint: bool, limits: Limits) -> dict:
    """The `inputs` of a model for parts of sentences, and the `lengths` of these in words."""
    inputs, chunks = _packed_words(words, preprocessor, limits)
    return {"inputs": {"a": with_last_piece(inputs, chunks)}, "lengths": chunks.row_lengths()}


def _packed_words(
    words: tf.RaggedTensor, preprocessor: Any, limits: Limits
) -> tuple[dict, tf.RaggedTensor]:
    units = preprocessor.tokenize_words(words)
    budget = limits.tokens - preprocessor.special_tokens(1)
    if limits.may_cut:
        units = cut_words(units, budget)
    else:
        check = length_check(units.values.row_lengths(), budget, "a single word")
        with tf.control_dependencies(check):
            units = tf.identity(units)
    chunks = split_words(units, budget)
    if limits.document_context:
        windows = context_windows(chunks, words.row_splits, budget)
        return pack_windows(preprocessor, chunks, windows, tf.range(chunks.nrows())), chunks
    return preprocessor.pack_words(chunks), chunks


def of_sentences(answers: dict, packed: dict, words: tf.RaggedTensor) -> dict:
    """The answers to parts of sentences, put together: `[batch, (words), …]` each."""

    def put_together(values: tf.Tensor) -> tf.RaggedTensor:
        in_chunks = tf.RaggedTensor.from_tensor(values, lengths=packed["lengths"])
        # Chunks keep the order of the words: the sentences' row splits apply.
        return tf.RaggedTensor.from_row_splits(in_chunks.flat_values, words.row_splits)

    return {name: put_together(values) for name, values in answers.items()}


def combined(combination: Callable, answers: list[dict], words: tf.RaggedTensor) -> dict:
    """One answer from those of several models, for each word."""
    flat = [{name: values.flat_values for name, values in member.items()} for member in answers]
    answer = combination(flat, words.row_splits)
    return {name: words.with_flat_values(values) for name, values in answer.items()}


def named(answer: dict, task: Task, labels: tf.Tensor, texts: dict) -> dict:
    """The outputs of a signature, padded as its words: names of tags, probabilities of each."""
    tags, scores = answer["label"], answer["probabilities"]
    tags = tags.with_flat_values(tf.gather(labels, tags.flat_values))
    width, num_tags = tf.shape(texts["tokens"])[1], labels.shape[0]
    return {
        "tags": tags.to_tensor("", shape=tf.stack([-1, width])),
        "scores": scores.to_tensor(shape=tf.stack([-1, width, num_tags])),
    }
