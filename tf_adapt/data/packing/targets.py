"""Labels to the targets of training: None of examples without labels."""

from collections.abc import Callable, Sequence
from itertools import chain

import numpy as np
import tensorflow as tf

from tf_adapt.data.formats import Record, TaggedSentence
from tf_adapt.data.labels import check_labels, label_ids
from tf_adapt.tasks.task import Task


def class_ids(records: list[Record], task: Task) -> tf.Tensor | None:
    """The id of each example's label: `[examples] int32`."""
    return _checked(records, task, lambda labels: _ids(labels, task))


def tag_ids(sentences: list[TaggedSentence], task: Task) -> tf.Tensor | None:
    """The ids of the tags of all sentences: `[words] int32`."""
    return _checked(sentences, task, lambda tags: _ids(chain.from_iterable(tags), task))


def label_matrix(records: list[Record], task: Task) -> tf.Tensor | None:
    """1 for each of an example's labels, else 0: `[examples, labels] float32`."""

    def matrix(labels: list) -> tf.Tensor:
        id_of = label_ids(task.labels)
        targets = np.zeros([len(labels), len(task.labels)], "float32")
        for row, names in zip(targets, labels, strict=True):
            row[[id_of(name) for name in names]] = 1
        return tf.constant(targets)

    return _checked(records, task, matrix)


def numbers(records: list[Record], task: Task) -> tf.Tensor | None:
    """The examples' targets: `[examples] float32`."""
    return _checked(records, task, lambda labels: tf.constant(labels, tf.float32))


def placeholders(records: list[Record], task: Task) -> tf.Tensor:
    """Zeros, where a text is its own target: `[examples] int32`."""
    return tf.zeros([len(records)], tf.int32)


def _checked(records: Sequence, task: Task, convert: Callable) -> tf.Tensor | None:
    labels = [record.target for record in records]
    if all(label is None for label in labels):
        return None
    check_labels(records, task.labels, "data", task.label_range)
    return convert(labels)


def _ids(names, task: Task) -> tf.Tensor:
    id_of = label_ids(task.labels)
    return tf.constant([id_of(name) for name in names], tf.int32)
