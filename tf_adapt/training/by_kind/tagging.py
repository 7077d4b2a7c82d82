"""Tagging: scores of whole sentences, tag schemes, a teacher's answers to words."""

from dataclasses import replace
from typing import Any

import numpy as np
import tensorflow as tf

from tf_adapt.config.data_sections import FilesConfig
from tf_adapt.data.batches import PreparedData
from tf_adapt.data.formats import TaggedSentence
from tf_adapt.data.labels import check_labels
from tf_adapt.data.tag_files import in_scheme
from tf_adapt.serving.by_kind.tagging import sentence_scores
from tf_adapt.serving.prediction.answers import Prediction
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


def in_the_tasks_scheme(
    sentences: list[TaggedSentence], section: Any, task: Task, path: str
) -> list[TaggedSentence]:
    """The sentences of a user's own file in the scheme of the task; a dataset's are already."""
    if not isinstance(section, FilesConfig):
        return sentences
    return in_scheme(sentences, section.scheme, task.scheme, path)


def with_known_tags(
    sentences: list[TaggedSentence], section: Any, task: Task, path: str
) -> list[TaggedSentence]:
    """As `in_the_tasks_scheme`, after a check that a user's own file has the task's tags.

    Raises:
        DataError: it has others, or none.
    """
    in_scheme = in_the_tasks_scheme(sentences, section, task, path)
    if isinstance(section, FilesConfig):
        check_labels(in_scheme, task.labels, path)
    return in_scheme
