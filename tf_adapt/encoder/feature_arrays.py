"""Cached features: how they are computed, and how batches are gathered from them."""

import collections
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import tensorflow as tf

from hub_modules.native.inference_graph import InferenceGraph
from tf_adapt.data.batches import untuned
from tf_adapt.data.packing.prepared import PreparedData
from tf_adapt.encoder.feature_parts import FeaturePart
from tf_adapt.errors import ConfigError

BATCH_SIZE = 32
# A shard is what is written, verified and computed again as a whole. There are at most so many,
# because each is an open file.
MOST_SHARDS, SMALLEST_SHARD = 64, 1024

# Of one batch: the number of tokens of each text, and for each part its rows, the texts
# concatenated.
Computed = tuple[np.ndarray, list[np.ndarray]]


class Rows(Protocol):
    """The rows of one part of one shard."""

    def expect(self, start: int, count: int) -> None:
        """Says that these rows are read soon."""

    def read(self, start: int, out: np.ndarray) -> None:
        """Copies rows from `start` on to `out`, `[rows, …]`."""


class RowsInMemory:
    """Rows of an array."""

    def __init__(self, array: np.ndarray):
        self.array = array

    def expect(self, start: int, count: int) -> None:
        """Nothing to do."""

    def read(self, start: int, out: np.ndarray) -> None:
        """See `Rows`."""
        out[...] = self.array[start : start + len(out)]


@dataclass(frozen=True)
class Features:
    """One part of the cached features, for one text column.

    Attributes:
        shards: the rows of each shard.
        shard, starts, lengths: `[examples]`, the shard of each text, its first row there, and its
            number of rows.
        dtype: the rows are kept in it.
        computed: the dtype in which they were computed, and are given to the head.
    """

    part: FeaturePart
    shards: Sequence[Rows]
    shard: np.ndarray
    starts: np.ndarray
    lengths: np.ndarray
    dtype: np.dtype
    computed: np.dtype

    def inputs(self, index: tf.Tensor) -> dict[str, tf.Tensor]:
        """Inputs of `HubEncoder` for the examples at `index`, gathered in the graph.

        Shapes: index `[batch]` → `pooled` `[batch, width]`; or `states_of_NAME`
        `[batch, time, width]`; or `states` `[batch, time, layers, width]` and `lengths` `[batch]
        int64`, where vectors of whole texts have the time 1. 0 at padding.
        """
        types = [tf.as_dtype(self.dtype), tf.int64]
        rows, lengths = tf.numpy_function(self._gather, [index], types, stateful=False)
        rows.set_shape([None, None, *self.part.shape])
        lengths.set_shape([None])
        rows = tf.cast(rows, tf.as_dtype(self.computed))
        if self.part.key == "pooled":
            return {"pooled": rows[:, 0]}
        return {self.part.key: rows} | ({"lengths": lengths} if self.part.key == "states" else {})

    def at(self, places: Sequence[int]) -> "Features":
        """Those of some of the texts, in another order."""
        rows = {name: getattr(self, name)[places] for name in ("shard", "starts", "lengths")}
        return replace(self, **rows)

    def rows(self, example: int) -> np.ndarray:
        """The rows of one text, `[rows, …]`."""
        rows, _ = self._gather(np.array([example]))
        return rows[0]

    def _gather(self, index: np.ndarray) -> list[np.ndarray]:
        lengths = self.lengths[index]
        texts = list(zip(self.shard[index], self.starts[index], lengths, strict=True))
        for shard, start, length in texts:
            self.shards[shard].expect(start, length)
        rows = np.zeros((len(index), lengths.max(initial=0), *self.part.shape), self.dtype)
        for row, (shard, start, length) in zip(rows, texts, strict=True):
            self.shards[shard].read(start, row[:length])
        return [rows, lengths]


def features_from(
    parts: list[FeaturePart],
    orders: list[np.ndarray],
    lengths: list[np.ndarray],
    shards: list[list[Rows]],
    dtype: np.dtype,
    computed: np.dtype,
) -> list[Features]:
    """The `Features` of each part.

    Args:
        orders: of each shard, as `shard_orders`.
        lengths: of each shard, the number of tokens of its texts in that order.
        shards: of each shard, the rows of each part.
    """
    count = sum(len(order) for order in orders)
    number, of_texts, firsts = (np.zeros(count, np.int64) for _ in range(3))
    for shard, (order, tokens) in enumerate(zip(orders, lengths, strict=True)):
        number[order], of_texts[order] = shard, tokens
        firsts[order] = np.cumsum(tokens) - tokens
    features = []
    for place, part in enumerate(parts):
        starts, rows = firsts, of_texts
        if part.per_text:
            starts, rows = np.zeros_like(firsts), np.ones_like(of_texts)
            for order in orders:
                starts[order] = np.arange(len(order))
        of_part = [shard[place] for shard in shards]
        features.append(Features(part, of_part, number, starts, rows, dtype, computed))
    return features


def shard_orders(lengths: np.ndarray) -> list[np.ndarray]:
    """The texts of each shard, shortest first: indices `[texts]`, whole batches but for the last.

    A function of the lengths alone, so that outputs are always computed in the same batches and
    have the same bits.
    """
    order = np.argsort(lengths, kind="stable")
    size = max(SMALLEST_SHARD, -(-len(order) // MOST_SHARDS))
    size = -(-size // BATCH_SIZE) * BATCH_SIZE
    return [order[start : start + size] for start in range(0, len(order), size)]


def computed_shards(
    prepared: PreparedData,
    number: int,
    graph: InferenceGraph,
    parts: list[FeaturePart],
    orders: list[np.ndarray],
    dtype: np.dtype,
    track: Callable[[tf.data.Dataset], Iterable],
) -> Iterator[Iterator[Computed]]:
    """Runs the encoder over the texts of some shards; yields the batches of each shard.

    Args:
        number: index of the text column.
        graph: inputs → `layers`, `mask` and, if the encoder has it, `pooled`.
        orders: some of `shard_orders`.
        dtype: of the rows.
        track: wraps the batches, e.g. in a progress bar.

    Raises:
        ConfigError: an output is too large for `dtype`.
    """
    name = "ab"[number]

    def inputs_of(index):
        return prepared.packed_inputs(index)[name]

    yield from _shards(inputs_of, graph.for_pass, parts, orders, dtype, track)


def selected_shards(
    prepared: PreparedData,
    number: int,
    encoder: Callable[[dict], dict],
    source: Features,
    parts: list[FeaturePart],
    orders: list[np.ndarray],
    dtype: np.dtype,
    track: Callable[[tf.data.Dataset], Iterable],
) -> Iterator[Iterator[Computed]]:
    """As `computed_shards`, from a cached part that all of these are selections of.

    Args:
        encoder: inputs with precomputed states → outputs.
        source: the cached part.
    """
    name = "ab"[number]

    def inputs_of(index):
        return prepared.packed_inputs(index)[name] | source.inputs(index)

    yield from _shards(inputs_of, lambda spec: encoder, parts, orders, dtype, track)


def _shards(
    inputs_of: Callable[[tf.Tensor], dict],
    forward_for: Callable,
    parts: list[FeaturePart],
    orders: list[np.ndarray],
    dtype: np.dtype,
    track: Callable[[tf.data.Dataset], Iterable],
) -> Iterator[Iterator[Computed]]:
    """The batches of each shard.

    Args:
        inputs_of: indices of texts `[batch]` → the encoder's inputs.
        forward_for: the inputs' spec → inputs → the encoder's outputs.
    """
    if not orders:
        return
    dataset = tf.data.Dataset.from_tensor_slices(np.concatenate(orders)).batch(BATCH_SIZE)
    dataset = untuned(dataset.map(inputs_of))
    forward = forward_for(dataset.element_spec)

    def batches() -> Iterator[Computed]:
        for inputs in track(dataset.prefetch(2)):
            encoded = forward(inputs)
            real = encoded["mask"].numpy()
            values = [part.take(encoded, inputs).numpy() for part in parts]
            values = [
                array if part.per_text else array[real]
                for part, array in zip(parts, values, strict=True)
            ]
            yield real.sum(axis=1, dtype=np.int64), [_as(dtype, array) for array in values]

    computed = batches()
    for order in orders:
        shard = itertools.islice(computed, -(-len(order) // BATCH_SIZE))
        yield shard
        collections.deque(shard, maxlen=0)  # what the caller left, else the next would begin there


def in_memory(shards: Iterator[Iterator[Computed]]) -> Iterator[tuple[np.ndarray, list[Rows]]]:
    """Lengths and rows of each shard."""
    for shard in shards:
        lengths, rows = zip(*shard, strict=True)
        arrays = [np.concatenate(part) for part in zip(*rows, strict=True)]
        yield np.concatenate(lengths), [RowsInMemory(array) for array in arrays]


def _as(dtype: np.dtype, values: np.ndarray) -> np.ndarray:
    if values.dtype == dtype:
        return values
    with np.errstate(over="ignore"):
        kept = values.astype(dtype)
    lost = np.isfinite(values) & ~np.isfinite(kept)
    if lost.any():
        largest = np.abs(values[lost]).max()
        raise ConfigError(
            f"features.dtype: expected a dtype that holds the encoder's output {largest:.4g}, got "
            f"{dtype.name}; take bfloat16 or float32"
        )
    return kept
