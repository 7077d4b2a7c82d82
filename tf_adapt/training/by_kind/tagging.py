"""Tagging: scores of whole sentences, tag schemes, a teacher's answers to words."""

from dataclasses import replace

import numpy as np
import tensorflow as tf

from tf_adapt.data.batches import PreparedData
from tf_adapt.data.formats import TaggedSentence
from tf_adapt.serving.by_kind.tagging import sentence_scores
from tf_adapt.serving.prediction.prediction import Prediction
from tf_adapt.tasks.task import Task
from tf_adapt.training.by_kind.classification import Answer, Scores


def scores_of_sentences(
    task: Task, records: list[TaggedSentence], answer: Answer, predictions: list[Prediction]
) -> Scores:
    """`sentence_scores`: Keras' metrics see the parts of a split sentence."""
    return sentence_scores(task, records, predictions)


def teacher_of_words(
    values: np.ndarray, train: PreparedData, labelled: list[TaggedSentence]
) -> tuple[tf.RaggedTensor, np.ndarray]:
    """As `classification.teacher_of_examples`; a row is a sentence or a part of one.

    Args:
        values: `[words, tags]`.
    """
    rows = train.segments[0].row_splits
    known = sum(len(sentence.words) for sentence in labelled)
    return tf.RaggedTensor.from_row_splits(values, rows), rows.numpy()[:-1] < known


def with_first_tag(sentence: TaggedSentence, task: Task) -> TaggedSentence:
    """An unlabelled sentence with placeholder tags, which are not used."""
    return replace(sentence, tags=(task.labels[0],) * len(sentence.words))
