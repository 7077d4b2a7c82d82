"""Batches for Keras: bucketed by length, in an order that depends on (seed, epoch) alone."""

import functools
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from tf_adapt.data.in_memory.named_columns import (
    canonical,
    column_names,
    refuse_columns,
    renamed,
)
from tf_adapt.data.packing.prepare import prepare
from tf_adapt.data.packing.prepared import PreparedData, with_weights
from tf_adapt.errors import ConfigError
from tf_adapt.tasks.task import Task

__all__ = [
    "PreparedData",
    "batches",
    "batches_from",
    "epoch_batches",
    "epoch_order",
    "prepare",
    "shortest_first",
    "sorted_batches",
    "uncounted",
    "untuned",
]

# Examples are sorted by length within a window of this many batches: long enough that a batch holds
# similar lengths, short enough that batches differ from epoch to epoch.
WINDOW_BATCHES = 50
_PREFETCHED = 4
# Attribute of a dataset of `batches_from`.
_FIRST_EPOCH = "_tf_adapt_first_epoch"


def batches(
    records: Any,
    task: Task,
    encoder: Any,
    batch_size: int = 32,
    seed: int = 0,
    shuffle: bool = True,
    max_length: int | None = None,
    truncate: bool = False,
    first_epoch: int = 0,
    skip: int = 0,
    document_context: bool = False,
    columns: Mapping[str, str] | None = None,
    sample_weight: Sequence[float] | None = None,
) -> tf.data.Dataset:
    """Examples as a dataset for `fit`, `evaluate` and `predict`; one pass is one epoch.

    Shapes: `({"a": inputs}, targets)`, for pairs that are encoded separately `({"a": …, "b": …},
    targets)`; without labels only the inputs; with `sample_weight` the weights `[batch]` too.
    Targets `[batch]`, multilabel `[batch, labels]` float32 of 0 and 1, tagging `[batch, words]`
    with −1 at padding. Every tensor is padded to the longest of its batch.

    Args:
        records: from `load_dataset` or a file reader; or your own data, in one of these forms.

            Rows in a list: `text` or `(text, label)`; pairs `(text_a, text_b)` or `(text_a, text_b,
            label)`; tagging `[word, …]` or `([word, …], [tag, …])`; records; dicts.

            Columns: a pandas frame or a dict with `text` (pairs: `text_a`, `text_b`), `label` and
            `group`, for tagging `words` and `tags`; or `(x, y)`, for pairs `((texts_a, texts_b),
            y)`. They are lists, arrays, Series or tensors. A tuple of two columns always means
            `(x, y)` (for pairs without labels, `x`): so rows must come in a list.

            A finite `tf.data.Dataset` of texts, `(x, y)` or dicts, batched or not; not for tagging.

            Labels are names or ids; multilabel: lists of names, or for all examples an array of 0
            and 1. Details: `tf_adapt.data.in_memory.records`.
        shuffle: with False, batches keep the order of the records.
        max_length, truncate, document_context: see `prepare`.
        first_epoch, skip: see `batches_from`.
        columns: of a frame, a dict or rows that are dicts: which hold `text` (pairs: `text_a`,
            `text_b`), `label` and `group`, for tagging `words` and `tags`; others are left out.
        sample_weight: of each record, by which its loss is multiplied; of labelled records only.

    Raises:
        ConfigError, DataError: see `prepare`.
    """
    if columns is not None:
        if column_names(records) is None:
            raise refuse_columns("records")
        records = renamed(records, canonical(columns), "records")
    prepared = prepare(records, task, encoder, max_length, truncate, document_context)
    if sample_weight is not None:
        prepared = with_weights(prepared, sample_weight)
    return batches_from(prepared, batch_size, seed, shuffle, first_epoch, skip)


def batches_from(
    prepared: PreparedData,
    batch_size: int = 32,
    seed: int = 0,
    shuffle: bool = True,
    first_epoch: int = 0,
    skip: int = 0,
) -> tf.data.Dataset:
    """Batches whose k-th iteration is epoch `first_epoch + k`, the first without `skip` batches.

    An iteration counts when it starts. Under a distribution strategy Keras starts more of them than
    it finishes, so that epochs are skipped: use `epoch_batches` there.

    Keras knows the number of batches, except with `skip`: fit that one epoch alone then, since
    Keras takes the length of the first epoch for that of all.

    Raises:
        ConfigError: `batch_size` is less than 1.
    """
    check_batch_size(batch_size)
    iterations = itertools.count()

    def order() -> Iterator[np.ndarray]:
        iteration = next(iterations)
        epoch = _epoch_order(prepared, batch_size, seed, shuffle, first_epoch + iteration)
        yield from epoch[0 if iteration else skip :]

    signature = tf.TensorSpec([None], tf.int64)
    dataset = _packed(prepared, tf.data.Dataset.from_generator(order, output_signature=signature))
    if not skip:
        count = -(-len(prepared.lengths) // batch_size)
        dataset = dataset.apply(tf.data.experimental.assert_cardinality(count))
    given = (prepared, batch_size, seed, first_epoch)
    setattr(dataset, _FIRST_EPOCH, functools.partial(epoch_batches, *given, shuffle=shuffle))
    return dataset


def uncounted(batches: Any) -> Any:
    """Batches for a pass before training: of a dataset of `batches_from` its whole first epoch,
    read without counting as an iteration; others as they are.

    Raises:
        ConfigError: they can be read only once.
    """
    if isinstance(batches, Iterator):
        raise ConfigError(
            "model.fit: expected batches that can be read twice, once before training for "
            f"head_scaled or class_weight='balanced', got {type(batches).__name__}; write "
            "model.fit(ta.batches((texts, labels), model.task, model.encoder))"
        )
    first_epoch = getattr(batches, _FIRST_EPOCH, None)
    return batches if first_epoch is None else first_epoch()


def made_of(batches: Any) -> tuple[PreparedData, int, int, int] | None:
    """What a dataset of `batches_from` was made of: `prepared, batch_size, seed, first_epoch`; None
    for others."""
    first_epoch = getattr(batches, _FIRST_EPOCH, None)
    return None if first_epoch is None else first_epoch.args


def epoch_batches(
    prepared: PreparedData,
    batch_size: int,
    seed: int,
    epoch: int,
    skip: int = 0,
    shuffle: bool = True,
) -> tf.data.Dataset:
    """The batches of one epoch from the `skip`-th on; every iteration returns the same ones.

    For training that resumes: nothing depends on the number of earlier iterations.

    Raises:
        ConfigError: `batch_size` is less than 1.
    """
    check_batch_size(batch_size)
    return in_order(prepared, _epoch_order(prepared, batch_size, seed, shuffle, epoch)[skip:])


def sorted_batches(
    prepared: PreparedData, batch_size: int
) -> tuple[tf.data.Dataset, list[np.ndarray]]:
    """All examples sorted by length, with little padding: for predictions and features.

    Every iteration returns the same batches.

    Returns:
        The batches, and the indices of each batch's examples, `[batch] int` each.

    Raises:
        ConfigError: `batch_size` is less than 1.
    """
    order = shortest_first(prepared, batch_size)
    return in_order(prepared, order), order


def shortest_first(prepared: PreparedData, batch_size: int) -> list[np.ndarray]:
    """The indices of each batch's examples, sorted by length.

    Raises:
        ConfigError: `batch_size` is less than 1.
    """
    check_batch_size(batch_size)
    return _consecutive(np.argsort(prepared.lengths, kind="stable"), batch_size)


def untuned(dataset: tf.data.Dataset) -> tf.data.Dataset:
    """The same dataset without tf.data's autotuning thread.

    The thread may miss the end of the iteration: it sleeps for 10 ms, then for 20, 40, …, and the
    iteration ends when it wakes up, so that an epoch may take twice as long as its steps.
    """
    options = tf.data.Options()
    options.autotune.enabled = False
    return dataset.with_options(options)


def epoch_order(lengths: np.ndarray, batch_size: int, seed: int, epoch: int) -> list[np.ndarray]:
    """The indices of each batch's examples in an epoch, a function of (seed, epoch).

    A random permutation is sorted by length within windows of `WINDOW_BATCHES` batches, cut into
    batches of `batch_size` (all full but one), and the batches are permuted.
    """
    random = np.random.default_rng([seed, epoch])
    order = random.permutation(len(lengths))
    window = WINDOW_BATCHES * batch_size
    parts = [order[start : start + window] for start in range(0, len(order), window)]
    order = np.concatenate([part[np.argsort(lengths[part], kind="stable")] for part in parts])
    cut = _consecutive(order, batch_size)
    return [cut[number] for number in random.permutation(len(cut))]


def _epoch_order(
    prepared: PreparedData, batch_size: int, seed: int, shuffle: bool, epoch: int
) -> list[np.ndarray]:
    if shuffle:
        return epoch_order(prepared.lengths, batch_size, seed, epoch)
    return _consecutive(np.arange(len(prepared.lengths)), batch_size)


def _consecutive(order: np.ndarray, batch_size: int) -> list[np.ndarray]:
    return [order[start : start + batch_size] for start in range(0, len(order), batch_size)]


def check_batch_size(batch_size: int) -> None:
    """Refuses a batch size below 1.

    Raises:
        ConfigError: it is.
    """
    if batch_size < 1:
        raise ConfigError(f"batch_size: expected at least 1, got {batch_size}")


def in_order(prepared: PreparedData, order: list[np.ndarray]) -> tf.data.Dataset:
    """The batches of these examples; without Python, which a generator would be asked for each."""
    lengths = np.array([len(index) for index in order], np.int64)
    flat = np.concatenate([np.empty(0, np.int64), *order])
    with tf.device("CPU:0"):  # where batches are made
        rows = tf.RaggedTensor.from_row_lengths(flat, lengths)
    return _packed(prepared, tf.data.Dataset.from_tensor_slices(rows))


def _packed(prepared: PreparedData, indices: tf.data.Dataset) -> tf.data.Dataset:
    dataset = indices.map(prepared.batch, num_parallel_calls=tf.data.AUTOTUNE)
    return untuned(dataset.prefetch(_PREFETCHED))
