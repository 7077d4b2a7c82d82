"""Pairs of texts with equal and with other labels: which, and their batches."""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import tensorflow as tf

from tf_adapt.data.batches import epoch_order, untuned
from tf_adapt.data.packing.prepared import PreparedData

_PAIRS = 5  # of the random numbers of a seed and an epoch
_PREFETCHED = 4


@dataclass(frozen=True)
class Pairs:
    """Pairs of texts.

    Shapes: `[pairs]` each.

    Attributes:
        first, second: the numbers of the texts.
        equal: 1 for equal labels, 0 for others.
    """

    first: np.ndarray
    second: np.ndarray
    equal: np.ndarray


def drawn_pairs(labels: np.ndarray, iterations: int, seed: int, epoch: int) -> Pairs:
    """For each text `iterations` pairs with another text of its label, and as many with a text of
    another label; a function of (seed, epoch).

    The only text of its label is paired with itself. Where all labels are equal there are no pairs
    of others.

    Args:
        labels: `[texts] int`.
    """
    random = np.random.default_rng([seed, epoch, _PAIRS])
    parts = []
    for label in np.unique(labels):
        (members,), (others,) = np.nonzero(labels == label), np.nonzero(labels != label)
        size = (len(members), iterations)
        # By how many places, at least one, its partner is further on.
        steps = random.integers(1, max(len(members), 2), size)
        partners = members[(np.arange(len(members))[:, None] + steps) % len(members)]
        parts.append((members, partners, 1))
        if len(others):
            parts.append((members, others[random.integers(len(others), size=size)], 0))
    return Pairs(
        np.concatenate([np.repeat(members, iterations) for members, _, _ in parts]),
        np.concatenate([partners.ravel() for _, partners, _ in parts]),
        np.concatenate([np.full(partners.size, equal) for _, partners, equal in parts]),
    )


def epoch_of_pairs(
    prepared: PreparedData, iterations: int, batch_size: int, seed: int, epoch: int, skip: int = 0
) -> tf.data.Dataset:
    """The batches of one epoch from the `skip`-th on; every iteration returns the same ones.

    Shapes: `({"a": inputs of the first texts, "b": of the second}, equal [batch] float32)`.
    """
    steps = steps_of_pairs(prepared, iterations, batch_size, seed, epoch)[skip:]
    return _dataset(prepared, lambda: iter(steps), len(steps))


def epochs_of_pairs(
    prepared: PreparedData, iterations: int, batch_size: int, seed: int, first_epoch: int
) -> tf.data.Dataset:
    """As `epoch_of_pairs`; the k-th iteration is epoch `first_epoch + k`."""
    epochs = itertools.count(first_epoch)
    given = (prepared, iterations, batch_size, seed)
    count = len(steps_of_pairs(*given, first_epoch))
    return _dataset(prepared, lambda: iter(steps_of_pairs(*given, next(epochs))), count)


def steps_of_pairs(
    prepared: PreparedData, iterations: int, batch_size: int, seed: int, epoch: int
) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Of each batch of an epoch, in random order: the fields of `Pairs`.

    Not by length as other batches: all pairs of a long text would be in a few of them.
    """
    pairs = drawn_pairs(prepared.targets.numpy(), iterations, seed, epoch)
    order = epoch_order(np.zeros(len(pairs.equal)), batch_size, seed, epoch)
    return [(pairs.first[batch], pairs.second[batch], pairs.equal[batch]) for batch in order]


def _dataset(prepared: PreparedData, steps: Callable[[], Iterator], count: int) -> tf.data.Dataset:
    def batch(first, second, equal):
        one, other = prepared.packed_inputs(first), prepared.packed_inputs(second)
        return {"a": one["a"], "b": other["a"]}, equal

    index = tf.TensorSpec([None], tf.int64)
    signature = (index, index, tf.TensorSpec([None], tf.float32))
    dataset = tf.data.Dataset.from_generator(steps, output_signature=signature)
    dataset = dataset.map(batch, num_parallel_calls=tf.data.AUTOTUNE)
    dataset = dataset.apply(tf.data.experimental.assert_cardinality(count))
    return untuned(dataset.prefetch(_PREFETCHED))
