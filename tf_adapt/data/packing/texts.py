"""Texts and pairs of texts to tokens."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from hub_modules.preprocess import tokenizers, truncate
from tf_adapt.data.formats import Record, check_text
from tf_adapt.data.packing.lengths import in_chunks, long_words, refuse_long, refuse_long_words
from tf_adapt.data.packing.prepared import Limits, PreparedData
from tf_adapt.data.stored.tokens import Tokens, TokenWriter
from tf_adapt.tasks.task import Task


def prepare_texts(
    records: Sequence[Record],
    task: Task,
    encoder: Any,
    limits: Limits,
    names: Sequence[str],
    targets: Callable[[list, Task], tf.Tensor | None],
) -> PreparedData:
    """The rows of all texts, or pairs of texts.

    Args:
        names: of the texts of a record.
        targets: see `tf_adapt.data.packing.targets`.

    Raises:
        DataError: a text or a label is wrong, or an example is too long.
        ArtifactError: the disk is full.
    """
    preprocessor, joint = encoder.preprocessor, encoder.joint_pairs
    for record in records:
        for name in names:
            check_text(getattr(record, name), record.where)
    budget = limits.tokens - preprocessor.special_tokens(len(names) if joint else 1)
    segments, lengths = _tokens(records, names, encoder, limits, budget)
    too_long = long_words(records, preprocessor.splits_at_punctuation)
    if not limits.may_cut:
        refuse_long_words(too_long)
        has_windows = getattr(encoder, "long", None) is not None
        hint = "" if has_windows else ", or have a transformer read it in windows (encoder.long)"
        refuse_long(lengths, budget, limits.tokens, lambda place: records[place].where, hint=hint)
    cut = lengths > budget
    cut[list(too_long)] = True
    return PreparedData(
        preprocessor=preprocessor,
        segments=segments,
        joint=joint,
        lengths=np.minimum(lengths, budget) + limits.tokens - budget,
        uncut_lengths=lengths + limits.tokens - budget,
        targets=targets(records, task),
        truncated=int(cut.sum()),
    )


def _tokens(
    records: Sequence[Record], names: Sequence[str], encoder: Any, limits: Limits, budget: int
) -> tuple[list[Tokens], np.ndarray]:
    """The tokens of each column, of at most `budget` of a row, and the length of the longest row of
    each record before it is cut."""
    tokenize = tokenizers(encoder.preprocessor, len(names))
    writers = [TokenWriter(limits.memory_mb) for _ in names]
    lengths = []
    for chunk in in_chunks(records):
        columns = [[getattr(record, name) for record in chunk] for name in names]
        tokens = [one(column) for one, column in zip(tokenize, columns, strict=True)]
        groups = [tokens] if encoder.joint_pairs else [[segment] for segment in tokens]
        of_groups = [sum(segment.row_lengths() for segment in group) for group in groups]
        lengths.append(tf.reduce_max(of_groups, axis=0).numpy())
        kept = [segment for group in groups for segment in truncate(group, budget)[0]]
        for writer, segment in zip(writers, kept, strict=True):
            writer.add(segment)
    return [writer.finished() for writer in writers], np.concatenate(lengths)
