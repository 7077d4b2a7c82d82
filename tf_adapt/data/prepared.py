"""Tokenized examples, and how a batch of them becomes the tensors that a model takes."""

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf

from tf_adapt.data.context import pack_windows

TARGETS = "targets"
# What stands at padding, where it is not 0.
FILLERS = {"first_piece": -1, TARGETS: -1}


@dataclass(frozen=True)
class PreparedData:
    """Tokenized examples, in the order of the records.

    Attributes:
        preprocessor: packs the units.
        segments: one ragged tensor per text of an example `[examples, (units)]`; tagging: one,
            `[examples, (words), (units)]`, where an example is a sentence or a part of one.
        joint: whether the texts of a pair are packed into one row.
        lengths: `[examples]`, units of the packed row, special tokens and context included.
        uncut_lengths: units of each record before it was cut or split, special tokens included.
        targets: `[examples] int32` (regression: float32), tagging `[examples, (words)] int32`, or
            None for data without labels.
        truncated: number of records that lost units.
        sentence_splits: tagging: row splits of the sentences over all words, which put what is
            computed for each word together again; else None.
        windows: `[examples, 2]`, the pieces that each example is read with (`context_windows`);
            None without document context.
        features: what a frozen encoder says of each text (`tf_adapt.features`), or None.
        length_step: rows are padded to a multiple of so many units, so that there are few shapes.
    """

    preprocessor: Any
    segments: list[tf.RaggedTensor]
    joint: bool
    lengths: np.ndarray
    uncut_lengths: np.ndarray
    targets: tf.Tensor | tf.RaggedTensor | None
    truncated: int
    sentence_splits: np.ndarray | None = None
    windows: tf.Tensor | None = None
    features: list | None = None
    length_step: int = 1

    @functools.cached_property
    def batch(self):
        """Inputs, and targets where there are some, of the examples at `index` `[batch]`: packed
        and padded, as a graph that is traced once for all epochs."""
        return tf.function(self._batch, autograph=False)

    def packed_inputs(self, index: tf.Tensor) -> dict:
        """The encoder's inputs for the texts of the examples at `index` `[batch]`."""
        preprocessor = self.preprocessor
        if self.windows is not None:
            return {"a": pack_windows(preprocessor, self.segments[0], self.windows, index)}
        segments = [tf.gather(segment, index) for segment in self.segments]
        if self.sentence_splits is not None:
            return {"a": preprocessor.pack_words(segments[0])}
        if self.joint:
            return {"a": preprocessor.pack(segments)}
        return {
            name: preprocessor.pack([segment])
            for name, segment in zip("ab", segments, strict=False)
        }

    def _batch(self, index: tf.Tensor):
        inputs = self.packed_inputs(index)
        for name, features in zip("ab", self.features or (), strict=False):
            inputs[name] |= features.inputs(index)
        inputs = {
            text: {name: self._padded(name, tensor) for name, tensor in tensors.items()}
            for text, tensors in inputs.items()
        }
        if self.targets is None:
            return inputs
        targets = tf.gather(self.targets, index)
        if isinstance(targets, tf.RaggedTensor):
            targets = self._padded(TARGETS, targets.to_tensor(-1))
        return inputs, targets

    def _padded(self, name: str, tensor: tf.Tensor) -> tf.Tensor:
        """`[batch, time, …]` with time rounded up; what has no time as it is."""
        if self.length_step == 1 or tensor.shape.rank == 1 or name == "pooled":
            return tensor
        missing = tf.math.floormod(-tf.shape(tensor)[1], self.length_step)
        paddings = [[0, 0], [0, missing], *([[0, 0]] * (tensor.shape.rank - 2))]
        return tf.pad(tensor, paddings, constant_values=FILLERS.get(name, 0))
