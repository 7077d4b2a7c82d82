"""States of an encoder for many texts as arrays, one text after another, and back into batches."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np
import tensorflow as tf

from hub_modules.given_states import states_key
from tf_adapt.data.batches import untuned
from tf_adapt.data.prepared import PreparedData
from tf_adapt.encoder import HubEncoder

BATCH_SIZE = 32


@dataclass(frozen=True)
class Features:
    """The states of every layer, or of one, for one text of each example.

    Attributes:
        states: `[units, layers, width]`, the texts one after another; of one layer
            `[units, width]`.
        starts, lengths: `[examples]`, where each text's units stand in `states`.
        pooled: `[examples, width]`, or None where there is none.
        layer: name of the one layer; None for every layer.
    """

    states: np.ndarray
    starts: np.ndarray
    lengths: np.ndarray
    pooled: np.ndarray | None
    layer: str | None = None

    def inputs(self, index: tf.Tensor) -> dict[str, tf.Tensor]:
        """What `HubEncoder` takes instead of texts, in the graph.

        Shapes: index `[batch]` → `states` `[batch, time, layers, width]` with zeros at padding,
        `lengths` `[batch] int64`, `pooled` `[batch, width]`; of one layer `states_of_NAME`
        `[batch, time, width]`.
        """
        dtype = tf.as_dtype(self.states.dtype)
        types = [dtype, tf.int64] + ([] if self.pooled is None else [dtype])
        found = tf.numpy_function(self._gather, [index], types, stateful=False)
        found[0].set_shape([None, None, *self.states.shape[1:]])
        found[1].set_shape([None])
        if self.layer is not None:
            return {states_key(self.layer): found[0]}
        inputs = {"states": found[0], "lengths": found[1]}
        if self.pooled is not None:
            found[2].set_shape([None, self.pooled.shape[1]])
            inputs["pooled"] = found[2]
        return inputs

    def _gather(self, index: np.ndarray) -> list[np.ndarray]:
        lengths = self.lengths[index]
        states = np.zeros((len(index), lengths.max(), *self.states.shape[1:]), self.states.dtype)
        for row, start, length in zip(states, self.starts[index], lengths, strict=True):
            row[:length] = self.states[start : start + length]
        return [states, lengths] + ([] if self.pooled is None else [self.pooled[index]])


def compute_features(
    prepared: PreparedData,
    number: int,
    forward: Any,
    kernels: list[tf.Tensor],
    parts: Callable[[list[tf.Tensor]], Sequence[tf.Tensor]],
    files: Sequence[BinaryIO],
    track: Callable[[tf.data.Dataset], Iterable],
) -> dict[str, np.ndarray | None]:
    """Writes states to files, shortest texts first; returns the texts' places and pooled vectors.

    Always in the same chunks, so that the bits do not depend on when they are computed.

    Args:
        number: of the text column.
        forward: a graph, inputs and kernels → `layers`, `mask` and, where there is one, `pooled`.
        kernels: `half_kernels` of the encoder.
        parts: what goes into each file, `[batch, time, …]`, of the layers.
        track: the batches, watched.

    Returns:
        `starts`, `lengths` and `pooled` of `Features`.
    """
    order = np.argsort(prepared.lengths, kind="stable")
    name = "ab"[number]
    dataset = tf.data.Dataset.from_tensor_slices(order).batch(BATCH_SIZE)
    dataset = untuned(dataset.map(lambda index: (index, prepared.packed_inputs(index)[name])))
    forward.get_concrete_function(dataset.element_spec[1], kernels)  # else one for each new shape
    starts = np.zeros(len(order), np.int64)
    lengths, pooled, units = np.zeros_like(starts), None, 0
    for index, inputs in track(dataset.prefetch(2)):
        encoded = forward(inputs, kernels)
        rows = index.numpy()
        lengths[rows] = tf.math.count_nonzero(encoded["mask"], axis=1)
        starts[rows] = units + np.cumsum(lengths[rows]) - lengths[rows]
        units += int(lengths[rows].sum())
        for part, file in zip(parts(encoded["layers"]), files, strict=True):
            for states, length in zip(part.numpy(), lengths[rows], strict=True):
                file.write(states[:length].tobytes())
        if encoded.get("pooled") is not None:
            vectors = encoded["pooled"].numpy()
            if pooled is None:
                pooled = np.zeros((len(order), vectors.shape[1]), vectors.dtype)
            pooled[rows] = vectors
    return {"starts": starts, "lengths": lengths, "pooled": pooled}


def columns(prepared: PreparedData) -> int:
    """How many texts of an example are read by themselves."""
    return 1 if prepared.joint else len(prepared.segments)


def layer_megabytes(prepared: PreparedData, encoder: HubEncoder, added: int = 0) -> float:
    """What one layer's states of the larger text column take; `added`: units of each text that are
    kept beside its own."""
    units = int(prepared.lengths.sum())
    if not prepared.joint:
        special = encoder.preprocessor.special_tokens(1) * len(prepared.lengths)
        units = special + max(int(tf.size(one.flat_values)) for one in prepared.segments)
    units += added * len(prepared.lengths)
    return units * encoder.output_width * states_dtype(encoder).itemsize / 1e6


def states_dtype(encoder: HubEncoder) -> np.dtype:
    """The precision in which states are kept: that in which they are computed."""
    return numpy_dtype("float32" if encoder.execution == "saved_model" else encoder.compute_dtype)


def numpy_dtype(name: str) -> np.dtype:
    """NumPy's name for a precision of TensorFlow's."""
    return np.dtype(tf.as_dtype(name).as_numpy_dtype)
