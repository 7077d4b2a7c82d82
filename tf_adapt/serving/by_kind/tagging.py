"""The answers of taggers: a tag and its probabilities for each word."""

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from hub_modules.preprocess import cut_words, split_words
from tf_adapt.data.formats import TaggedSentence
from tf_adapt.data.packing.context import context_windows, pack_windows
from tf_adapt.data.packing.last_pieces import with_last_piece
from tf_adapt.data.packing.prepared import Limits
from tf_adapt.serving.by_kind.classification import Answer, ids_of_names
from tf_adapt.serving.exports.length_check import length_check
from tf_adapt.serving.prediction.answers import Prediction
from tf_adapt.statistics.scores import item_statistics, score_of
from tf_adapt.tasks.spans import span_scores
from tf_adapt.tasks.tag_schemes import WORDS
from tf_adapt.tasks.task import Task


def of_words(values: np.ndarray, inputs: dict) -> list[np.ndarray]:
    """The rows of a batch, each without what belongs to padding."""
    return [row[words] for row, words in zip(values, _word_mask(inputs["a"]), strict=True)]


def _word_mask(inputs: dict) -> np.ndarray:
    """Which positions of a batch of sentences are words, not padding: `[batch, words] bool`."""
    if "first_piece" in inputs:
        return inputs["first_piece"].numpy() >= 0
    if "sequence_len" in inputs:
        return tf.sequence_mask(inputs["sequence_len"], inputs["tokens"].shape[1]).numpy()
    if "word_ids" in inputs:
        return inputs["word_ids"].numpy() > 0
    return inputs["character_ids"].numpy().any(axis=-1)


def number_of_words(sentences: list[TaggedSentence]) -> int:
    """The words of all sentences."""
    return sum(len(sentence.words) for sentence in sentences)


def predictions(task: Task, sentences: list[TaggedSentence], answer: Answer) -> list[Prediction]:
    """The tags of each sentence, with the probability of each."""
    best = answer["label"]
    ends = np.cumsum([len(record.words) for record in sentences])
    certainty = answer["probabilities"][np.arange(len(best)), best]
    return [
        Prediction(
            tuple(task.labels[label] for label in best[end - len(record.words) : end]),
            tuple(map(float, certainty[end - len(record.words) : end])),
        )
        for record, end in zip(sentences, ends, strict=True)
    ]


def served(task: Task, serve: Callable, sentences: list[TaggedSentence]) -> Answer:
    """The answer of an export."""
    words = tf.ragged.constant([record.words for record in sentences], dtype=tf.string)
    answer = {
        name: tf.RaggedTensor.from_tensor(values, lengths=words.row_lengths()).flat_values
        for name, values in serve(tokens=words.to_tensor("")).items()
    }
    return {
        "label": ids_of_names(task, answer["tags"]),
        "probabilities": answer["scores"].numpy(),
    }


def sentence_scores(
    task: Task, sentences: list[TaggedSentence], predictions: list[Prediction]
) -> dict[str, float]:
    """Span F1, precision and recall, and strict span F1, of whole sentences; or the accuracy.

    The Keras metrics of the same names see the parts of a split sentence separately, and would
    count an entity across a split as two.
    """
    predicted = [prediction.label for prediction in predictions]
    true = [sentence.tags for sentence in sentences]
    if task.scheme == WORDS:
        sums = item_statistics("accuracy", predicted, true, scheme=WORDS).sum(0)
        return {"accuracy": float(score_of("accuracy", sums))}
    return span_scores(true, predicted, task.scheme)


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
