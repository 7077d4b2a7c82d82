"""Labels to the targets of training: None of examples without labels."""

from collections.abc import Callable, Iterable, Sequence
from itertools import chain

import numpy as np
import tensorflow as tf

from tf_adapt.data.formats import Record, TaggedSentence
from tf_adapt.data.labels import check_labels, label_ids
from tf_adapt.tasks.by_kind.text_generation import count_words
from tf_adapt.tasks.task import Task


def class_ids(records: list[Record], task: Task) -> tf.Tensor | None:
    """The id of each example's label: `[examples] int32`."""
    return _checked(records, task, lambda: _ids((record.label for record in records), task))


def tag_ids(sentences: list[TaggedSentence], task: Task) -> tf.Tensor | None:
    """The ids of the tags of all sentences: `[words] int32`."""
    tags = chain.from_iterable(sentence.tags for sentence in sentences)
    return _checked(sentences, task, lambda: _ids(tags, task))


def label_matrix(records: list[Record], task: Task) -> tf.Tensor | None:
    """1 for each of an example's labels, else 0: `[examples, labels] float32`."""

    def matrix() -> tf.Tensor:
        id_of = label_ids(task.labels)
        targets = np.zeros([len(records), len(task.labels)], "float32")
        for row, record in zip(targets, records, strict=True):
            row[[id_of(name) for name in record.label]] = 1
        return tf.constant(targets)

    return _checked(records, task, matrix)


def numbers(records: list[Record], task: Task) -> tf.Tensor | None:
    """The examples' targets: `[examples] float32`."""
    labels = (record.label for record in records)
    return _checked(records, task, lambda: tf.constant(np.fromiter(labels, np.float32)))


def placeholders(records: list[Record], task: Task) -> tf.Tensor:
    """Zeros, where a text is its own target: `[examples] int32`."""
    return tf.zeros([len(records)], tf.int32)


def word_counts(texts: Iterable[str]) -> tf.Tensor:
    """The words of each text that is to be written: `[examples] int32`."""
    return tf.constant(np.fromiter(map(count_words, texts), np.int32))


def _checked(records: Sequence, task: Task, convert: Callable) -> tf.Tensor | None:
    if all(record.target is None for record in records):
        return None
    check_labels(records, task.labels, "data", task.label_range)
    return convert()


def _ids(names, task: Task) -> tf.Tensor:
    id_of = label_ids(task.labels)
    return tf.constant(np.fromiter(map(id_of, names), np.int32))
