"""Batches of labelled examples with as many unlabelled texts, for a consistency loss."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from hub_modules.preprocess import tokenized, truncate
from tf_adapt.data.batches import WINDOW_BATCHES, check_batch_size, epoch_order, untuned
from tf_adapt.data.in_memory.kinds import KINDS
from tf_adapt.data.in_memory.records import in_memory_records
from tf_adapt.data.packing.prepare import checked_limit, prepare
from tf_adapt.data.packing.prepared import PreparedData
from tf_adapt.data.perturbed_words import (
    CHANGED_SHARE,
    check_perturbation,
    paraphrased,
    perturbed_words,
)
from tf_adapt.errors import DataError
from tf_adapt.tasks.task import Task

# Keys of a batch's inputs beside "a" and "b": the unlabelled texts, other texts in their place, and
# which of their words are real (tagging).
UNLABELLED, PERTURBED, WORDS = "unlabelled", "perturbed", "unlabelled_words"
_PREFETCHED = 4
_ORDER, _CHANGES = 2, 3  # of the random numbers of a seed and an epoch


@dataclass(frozen=True)
class Unlabelled:
    """Unlabelled texts, tokenized, and what takes their place in the second pass.

    Attributes:
        texts: the examples.
        prepared: they, tokenized.
        changed: as many other texts, tokenized (paraphrases), or None.
        rate: the share of words that are changed anew in each step, or None.
        pack: columns of texts → the encoder's inputs, cut to its limit; with a rate.
    """

    texts: list
    prepared: PreparedData
    changed: PreparedData | None = None
    rate: float | None = None
    pack: Callable | None = None


def prepared_unlabelled(
    records: Any,
    task: Task,
    encoder: Any,
    limits: tuple[int | None, bool, bool] = (None, False, False),
    rate: float | None = None,
    paraphrases: str | Path | None = None,
) -> Unlabelled:
    """Tokenizes unlabelled texts and what takes their place.

    Args:
        limits: `max_length, truncate, document_context` of `prepare`.
        rate: of changed words; None: none are changed.
        paraphrases: a file as of `paraphrased`.

    Raises:
        ConfigError, DataError: as `prepare` and `paraphrased`; an example has a label.
    """
    texts = in_memory_records(records, task)
    for record in texts:
        if getattr(record, KINDS[task.kind].target) is not None:
            raise DataError(
                f"{record.where}: expected unlabelled texts, got one with a label; leave it out"
            )
    prepared = prepare(texts, task, encoder, *limits)
    changed = None
    if paraphrases is not None:
        changed = prepare(paraphrased(texts, paraphrases), task, encoder, *limits)
    pack = None if rate is None else _packing(encoder, checked_limit(limits[0], encoder))
    return Unlabelled(texts, prepared, changed, rate, pack)


def consistency_batches(
    records: Any,
    unlabelled: Any,
    task: Task,
    encoder: Any,
    batch_size: int = 32,
    seed: int = 0,
    perturbation: str = "dropout",
    rate: float = CHANGED_SHARE,
    paraphrases: str | Path | None = None,
    max_length: int | None = None,
    truncate: bool = False,
    first_epoch: int = 0,
) -> tf.data.Dataset:
    """Labelled examples with as many unlabelled ones as a dataset for `fit`; one pass is one epoch.

    A batch is that of `tf_adapt.batches`, whose inputs have `unlabelled` (and of words and
    paraphrases `perturbed`) with as many rows. The unlabelled examples go through their data pass
    after pass, over the epochs; their order depends on (seed, epoch) alone. Under a distribution
    strategy Keras starts more passes than it finishes, so that epochs are skipped.

    Args:
        records: examples with labels, as of `tf_adapt.batches`.
        unlabelled: the same without labels.
        perturbation: as in `consistency_objective`. With "words" each word of a text is dropped or
            swapped with its neighbour with probability `rate`.
        paraphrases: with "paraphrases": a TSV file with the columns `text` and `paraphrase`.
        first_epoch: the epoch of the first pass.

    Raises:
        ConfigError, DataError: as `batches`, `prepared_unlabelled` and `check_perturbation`.
    """
    check_batch_size(batch_size)
    check_perturbation(perturbation, rate, paraphrases)
    limits = (max_length, truncate, False)
    train = prepare(records, task, encoder, *limits)
    more = prepared_unlabelled(
        unlabelled,
        task,
        encoder,
        limits,
        rate if perturbation == "words" else None,
        paraphrases,
    )
    iterations = itertools.count(first_epoch)
    dataset = _dataset(train, more, lambda: _steps(train, more, batch_size, seed, next(iterations)))
    count = -(-len(train.lengths) // batch_size)
    return dataset.apply(tf.data.experimental.assert_cardinality(count))


def epoch_with_unlabelled(
    train: PreparedData, more: Unlabelled, batch_size: int, seed: int, epoch: int, skip: int = 0
) -> tf.data.Dataset:
    """The batches of one epoch from the `skip`-th on; every iteration returns the same ones."""

    def steps() -> Iterator:
        return itertools.islice(_steps(train, more, batch_size, seed, epoch), skip, None)

    count = -(-len(train.lengths) // batch_size) - skip
    return _dataset(train, more, steps).apply(tf.data.experimental.assert_cardinality(count))


def unlabelled_order(
    lengths: np.ndarray, sizes: Sequence[int], seed: int, epoch: int
) -> list[np.ndarray]:
    """The unlabelled examples of each step of an epoch, a function of (seed, epoch).

    The epoch takes its examples from random permutations, one after another over the epochs, each
    where the epoch before stopped. They are sorted by length within windows of `WINDOW_BATCHES`
    batches and cut into parts of the given sizes, whose places are random.

    Args:
        lengths: tokens of each unlabelled example.
        sizes: the number of examples of each step, in all the same for every epoch.
    """
    count, total = sum(sizes), len(lengths)
    first = epoch * count
    passes = range(first // total, (first + count - 1) // total + 1)
    drawn = np.concatenate(
        [np.random.default_rng([seed, number, _ORDER]).permutation(total) for number in passes]
    )
    start = first - passes[0] * total
    drawn = drawn[start : start + count]
    window = WINDOW_BATCHES * max(sizes)
    parts = [drawn[start : start + window] for start in range(0, count, window)]
    drawn = np.concatenate([part[np.argsort(lengths[part], kind="stable")] for part in parts])
    places = np.random.default_rng([seed, epoch, _ORDER]).permutation(len(sizes))
    ends = np.cumsum(np.array(sizes)[places])
    batches = dict(zip(places.tolist(), np.split(drawn, ends[:-1]), strict=True))
    return [batches[place] for place in range(len(sizes))]


def _steps(
    train: PreparedData, more: Unlabelled, batch_size: int, seed: int, epoch: int
) -> Iterator[tuple]:
    """The labelled and the unlabelled examples of each step, and the changed texts by column."""
    order = epoch_order(train.lengths, batch_size, seed, epoch)
    sizes = [len(batch) for batch in order]
    unlabelled = unlabelled_order(more.prepared.lengths, sizes, seed, epoch)
    for step, (batch, others) in enumerate(zip(order, unlabelled, strict=True)):
        yield batch, others, *_changed(more, others, [seed, epoch, step, _CHANGES])


def _changed(more: Unlabelled, index: np.ndarray, seed: list[int]) -> list[list[str]]:
    if more.rate is None:
        return []
    random = np.random.default_rng(seed)
    texts = [more.texts[number] for number in index]
    columns = [[record.text_a for record in texts]]
    if more.texts[0].text_b is not None:
        columns.append([record.text_b for record in texts])
    return [[perturbed_words(text, more.rate, random) for text in column] for column in columns]


def _packing(encoder: Any, limit: int) -> Callable:
    """Columns of texts → the encoder's inputs, cut to its limit, in the graph."""
    preprocessor = encoder.preprocessor

    def pack(columns: Sequence) -> dict:
        tokens = tokenized(preprocessor, columns)
        groups = [tokens] if encoder.joint_pairs else [[column] for column in tokens]
        budget = limit - preprocessor.special_tokens(len(groups[0]))
        packed = [preprocessor.pack(truncate(group, budget)[0]) for group in groups]
        return dict(zip("ab", packed, strict=False))

    return pack


def _dataset(
    train: PreparedData, more: Unlabelled, steps: Callable[[], Iterator]
) -> tf.data.Dataset:
    def batch(index, others, *columns):
        inputs, targets = train.batch(index)
        unlabelled_inputs = {UNLABELLED: more.prepared.batch(others)}
        if more.changed is not None:
            unlabelled_inputs[PERTURBED] = more.changed.batch(others)
        if more.pack is not None:
            unlabelled_inputs[PERTURBED] = more.pack(columns)
        if more.prepared.sentence_splits is not None:
            words = tf.gather(more.prepared.segments[0], others).row_lengths()
            unlabelled_inputs[WORDS] = tf.sequence_mask(words)
        return inputs | unlabelled_inputs, targets

    index = tf.TensorSpec([None], tf.int64)
    columns = [tf.TensorSpec([None], tf.string)] * len(more.texts[0].texts) if more.pack else []
    signature = (index, index, *columns)
    dataset = tf.data.Dataset.from_generator(steps, output_signature=signature)
    dataset = dataset.map(batch, num_parallel_calls=tf.data.AUTOTUNE)
    return untuned(dataset.prefetch(_PREFETCHED))
