"""Texts and pairs of texts to tokens."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from hub_modules.preprocess import tokenizers, truncate
from tf_adapt.data.formats import Record, check_text
from tf_adapt.data.packing.lengths import in_chunks, long_words, refuse_long, refuse_long_words
from tf_adapt.data.packing.prepared import Limits, PreparedData
from tf_adapt.tasks.task import Task


def prepare_texts(
    records: list[Record],
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
    """
    preprocessor, joint = encoder.preprocessor, encoder.joint_pairs
    texts = [[getattr(record, name) for record in records] for name in names]
    for column in texts:
        for text, record in zip(column, records, strict=True):
            check_text(text, record.where)
    by_column = zip(tokenizers(preprocessor, len(texts)), texts, strict=True)
    tokens = [in_chunks(tokenize, column) for tokenize, column in by_column]
    groups = [tokens] if joint else [[segment] for segment in tokens]
    budget = limits.tokens - preprocessor.special_tokens(len(groups[0]))
    lengths = np.stack([sum(s.row_lengths() for s in group).numpy() for group in groups])
    too_long = long_words(records, preprocessor.splits_at_punctuation)
    if not limits.may_cut:
        refuse_long_words(too_long)
        has_windows = getattr(encoder, "long", None) is not None
        hint = "" if has_windows else ", or have a transformer read it in windows (encoder.long)"
        where = [record.where for record in records]
        refuse_long(lengths.max(axis=0), budget, limits.tokens, where, hint=hint)
    cut = (lengths > budget).any(axis=0)
    cut[list(too_long)] = True
    kept = [
        segment
        for group, of_group in zip(groups, lengths, strict=True)
        # Where all fit, not even a copy is made.
        for segment in (truncate(group, budget)[0] if (of_group > budget).any() else group)
    ]
    return PreparedData(
        preprocessor=preprocessor,
        segments=kept,
        joint=joint,
        lengths=np.minimum(lengths.max(axis=0), budget) + limits.tokens - budget,
        uncut_lengths=lengths.max(axis=0) + limits.tokens - budget,
        targets=targets(records, task),
        truncated=int(cut.sum()),
    )
