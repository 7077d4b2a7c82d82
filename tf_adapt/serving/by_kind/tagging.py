"""The answers of taggers: a tag and its probabilities for each word."""

from collections.abc import Callable

import numpy as np
import tensorflow as tf

from tf_adapt.data.formats import TaggedSentence
from tf_adapt.serving.by_kind.classification import Answer, ids_of_names
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
    return sum(len(one.words) for one in sentences)


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
    found = {
        name: tf.RaggedTensor.from_tensor(values, lengths=words.row_lengths()).flat_values
        for name, values in serve(tokens=words.to_tensor("")).items()
    }
    return {
        "label": ids_of_names(task, found["tags"]),
        "probabilities": found["scores"].numpy(),
    }


def sentence_scores(
    task: Task, sentences: list[TaggedSentence], predictions: list[Prediction]
) -> dict[str, float]:
    """Span F1, precision and recall, and strict span F1, of whole sentences; or the accuracy.

    The Keras metrics of the same names see the parts of a split sentence separately, and would
    count an entity across a split as two.
    """
    predicted, true = [one.label for one in predictions], [one.tags for one in sentences]
    if task.scheme == WORDS:
        sums = item_statistics("accuracy", predicted, true, scheme=WORDS).sum(0)
        return {"accuracy": float(score_of("accuracy", sums))}
    return span_scores(true, predicted, task.scheme)
