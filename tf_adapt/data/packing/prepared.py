"""Tokenized examples, and their conversion to batches of model inputs."""

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import tensorflow as tf

from tf_adapt.data.packing.context import pack_windows
from tf_adapt.data.packing.last_pieces import with_last_piece
from tf_adapt.data.packing.span_windows import SpanWindows, pack_spans
from tf_adapt.data.stored.tokens import Tokens, rows_at
from tf_adapt.errors import ConfigError

if TYPE_CHECKING:  # it imports this file
    from tf_adapt.data.packing.dialog import DialogRows
    from tf_adapt.data.packing.text_generation import TargetRows

TARGETS = "targets"
# Keys of the first text's inputs, in training with a teacher.
TEACHER, LABELLED = "teacher", "labelled"
# The targets of span extraction, for the loss of a pass that predicts.
ANSWER = "answer"
# Another one, in training with labels from several sources.
SOFT_LABELS = "soft_labels"
# Another one, in training with heads of slices.
SLICE_TARGETS = "slice_targets"
# Padding values other than 0.
FILLERS = {
    "first_piece": -1,
    "last_piece": -1,
    "first_char": -1,
    "end_char": -1,
    "starts": False,
    TARGETS: -1,
}


@dataclass(frozen=True)
class Limits:
    """How much of an example is read.

    Attributes:
        tokens: of a packed row, special tokens included.
        may_cut: cut what is too long, and count it.
        document_context: see `tf_adapt.data.packing.context`.
        memory_mb: beyond so many megabytes the tokens of a text column are on disk.
    """

    tokens: int
    may_cut: bool
    document_context: bool = False
    memory_mb: float = math.inf


@dataclass(frozen=True)
class PreparedData:
    """Tokenized examples, in input order.

    Attributes:
        preprocessor: packs the tokens (word pieces, or words for ELMo).
        segments: tokens per text of an example `[examples, (tokens)]`; tagging: a ragged tensor,
            `[examples, (words), (tokens)]`, where an example is a sentence or a part of one; span
            extraction: those of `spans`, where an example is a question with one window.
        joint: whether the texts of a pair are packed into one row.
        lengths: `[examples]`, tokens of the packed row, special tokens and context included.
        uncut_lengths: tokens of each record before it was cut or split, special tokens included.
        targets: `[examples] int32` (regression: float32), multilabel `[examples, labels] float32`
            of 0 and 1, tagging `[examples, (words)] int32`, span extraction `[examples, 2] int32`
            (`window_targets`), or None for data without labels.
        truncated: number of truncated records.
        sentence_splits: tagging: row splits of the sentences over all words, to group the outputs
            per word by sentence; else None.
        windows: `[examples, 2]`, the pieces of each example with its context (`context_windows`),
            or the windows of `spans`; None without document context.
        spans: span extraction: the questions and the windows of their contexts; else None.
        record_of: span extraction: `[examples]`, the number of each example's record; else None.
        dialog: exchanges of dialogues, which are packed when they are asked for; else None.
        written: text generation: the targets, which are packed in the same way; else None.
        features: for each text column the kept outputs of a frozen encoder
            (`tf_adapt.encoder.feature_arrays.Features`); or None.
        teacher: what a teacher answers, `[examples, labels]` logits (regression: `[examples]`
            scores; tagging: `[examples, (words), labels]`), or None.
        labelled: `[examples] float32`, 0 where a target is only a placeholder, 1 elsewhere; None:
            all targets are real.
        soft_labels: `[examples, labels] float32`, the probability of each label, which is trained
            in place of the targets; or None.
        slice_targets: `[examples, slices] int32`, the targets of the members of each slice, −1 for
            other examples; or None.
        weights: `[examples] float32`, by which the losses are multiplied; or None.
        length_step: rows are padded to a multiple of this length, so that there are few shapes.
    """

    preprocessor: Any
    segments: list[Tokens]
    joint: bool
    lengths: np.ndarray
    uncut_lengths: np.ndarray
    targets: tf.Tensor | tf.RaggedTensor | None
    truncated: int
    sentence_splits: np.ndarray | None = None
    windows: tf.Tensor | None = None
    spans: SpanWindows | None = None
    record_of: np.ndarray | None = None
    dialog: "DialogRows | None" = None
    written: "TargetRows | None" = None
    features: list | None = None
    teacher: tf.Tensor | tf.RaggedTensor | None = None
    labelled: tf.Tensor | None = None
    soft_labels: tf.Tensor | None = None
    slice_targets: tf.Tensor | None = None
    weights: tf.Tensor | None = None
    length_step: int = 1

    @functools.cached_property
    def batch(self):
        """`batch(index)`: packed and padded inputs, and targets if there are any, of the examples
        at `index` `[batch]`; a graph that is traced once for all epochs."""
        return tf.function(self._batch, autograph=False)

    def packed_inputs(self, index: tf.Tensor) -> dict:
        """The encoder's inputs for the texts of the examples at `index` `[batch]`."""
        preprocessor = self.preprocessor
        if self.dialog is not None:
            return {"a": self.dialog.packed(index)}
        if self.spans is not None:
            inputs = pack_spans(preprocessor, self.spans, index)
            known = {} if self.targets is None else {ANSWER: tf.gather(self.targets, index)}
            return {"a": inputs | known}
        segments = [rows_at(segment, index) for segment in self.segments]
        if self.windows is not None:
            inputs = pack_windows(preprocessor, self.segments[0], self.windows, index)
            return {"a": with_last_piece(inputs, segments[0])}
        if self.sentence_splits is not None:
            return {"a": with_last_piece(preprocessor.pack_words(segments[0]), segments[0])}
        if self.written is not None:
            return {"a": preprocessor.pack(segments) | self.written.packed(index)}
        if self.joint:
            return {"a": preprocessor.pack(segments)}
        return {
            name: preprocessor.pack([segment])
            for name, segment in zip("ab", segments, strict=False)
        }

    def _batch(self, index: tf.Tensor):
        kept = {
            text: {
                name: tensor
                for features in column
                for name, tensor in features.inputs(index).items()
            }
            for text, column in zip("ab", self.features or (), strict=False)
        }
        if kept and all(features.part.per_text for column in self.features for features in column):
            inputs = kept  # vectors of whole texts: a head that reads these asks for no token
        else:
            inputs = {
                text: {
                    name: self._padded(name, tensor)
                    for name, tensor in (tensors | kept.get(text, {})).items()
                }
                for text, tensors in self.packed_inputs(index).items()
            }
        if self.teacher is not None:
            inputs["a"] |= self._taught(index)
        if self.soft_labels is not None:
            inputs["a"][SOFT_LABELS] = tf.gather(self.soft_labels, index)
        if self.slice_targets is not None:
            inputs["a"][SLICE_TARGETS] = tf.gather(self.slice_targets, index)
        if self.targets is None:
            return inputs
        targets = tf.gather(self.targets, index)
        if isinstance(targets, tf.RaggedTensor):
            targets = self._padded(TARGETS, targets.to_tensor(-1))
        if self.weights is None:
            return inputs, targets
        return inputs, targets, tf.gather(self.weights, index)

    def _taught(self, index: tf.Tensor) -> dict:
        answers = tf.gather(self.teacher, index)
        if isinstance(answers, tf.RaggedTensor):
            answers = self._padded(TEACHER, answers.to_tensor(0.0))
        labelled = {} if self.labelled is None else {LABELLED: tf.gather(self.labelled, index)}
        return {TEACHER: answers, **labelled}

    def _padded(self, name: str, tensor: tf.Tensor) -> tf.Tensor:
        """`[batch, time, …]` padded to a multiple of `length_step`; others are not changed."""
        if self.length_step == 1 or tensor.shape.rank == 1 or name in ("pooled", ANSWER):
            return tensor
        missing = tf.math.floormod(-tf.shape(tensor)[1], self.length_step)
        paddings = [[0, 0], [0, missing], *([[0, 0]] * (tensor.shape.rank - 2))]
        return tf.pad(tensor, paddings, constant_values=FILLERS.get(name, 0))


def with_weights(prepared: PreparedData, weights: Sequence[float]) -> PreparedData:
    """Labelled examples with a weight for each record; the parts of a record have its weight.

    Raises:
        ConfigError: examples without labels; another number of weights, or one that is none.
    """
    given = np.asarray(weights, np.float32)
    records = _record_of(prepared)
    count = int(records.max()) + 1
    if prepared.targets is None or given.shape != (count,):
        got = "examples without labels" if prepared.targets is None else f"shape {given.shape}"
        raise ConfigError(
            f"sample_weight: expected one number for each of {count} labelled examples, got {got}"
        )
    if not (np.isfinite(given) & (given >= 0)).all():
        raise ConfigError("sample_weight: expected finite numbers from 0, got others")
    return replace(prepared, weights=tf.constant(given[records]))


def _record_of(prepared: PreparedData) -> np.ndarray:
    """The number of each example's record, `[examples]`."""
    if prepared.record_of is not None:
        return prepared.record_of
    if prepared.sentence_splits is None:
        return np.arange(len(prepared.lengths))
    ends = np.cumsum(prepared.segments[0].row_lengths())
    starts = np.concatenate([[0], ends[:-1]])
    return np.searchsorted(prepared.sentence_splits, starts, "right") - 1
