"""Tokenized examples, and how a batch of them becomes the tensors that a model takes."""

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf

from tf_adapt.data.context import pack_windows


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
        if self.targets is None:
            return inputs
        targets = tf.gather(self.targets, index)
        if isinstance(targets, tf.RaggedTensor):
            targets = targets.to_tensor(-1)
        return inputs, targets
