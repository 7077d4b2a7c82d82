"""Sources and targets to tokens: the source for an encoder, the target for a decoder."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import tensorflow as tf

from tf_adapt.data.formats import Record, check_text
from tf_adapt.data.packing import targets
from tf_adapt.data.packing.lengths import in_chunks
from tf_adapt.data.packing.prepared import Limits, PreparedData
from tf_adapt.data.packing.texts import prepare_texts
from tf_adapt.data.stored.tokens import Tokens, TokenWriter, rows_at
from tf_adapt.errors import ConfigError, DataError
from tf_adapt.tasks.task import Task

# Keys of a packed batch beside those of an encoder.
TARGET_IDS, TARGET_MASK = "target_ids", "target_mask"


@dataclass(frozen=True)
class TargetRows:
    """Targets that are packed when they are asked for: `<end> target <end>`.

    Attributes:
        tokens: of each target, `[examples, (tokens)] int32`, without the tokens around it; None of
            examples without targets, whose rows are `<end>`.
        end: id of the token before and behind each target.
    """

    tokens: Tokens | None
    end: int

    def packed(self, index: tf.Tensor) -> dict:
        """`target_ids`, `target_mask` `[batch, time] int32`; padding is at the right."""
        ends = tf.fill([tf.size(index), 1], self.end)
        if self.tokens is None:
            return {TARGET_IDS: ends, TARGET_MASK: tf.ones_like(ends)}
        rows = tf.concat([ends, tf.cast(rows_at(self.tokens, index), tf.int32), ends], axis=1)
        mask = tf.sequence_mask(rows.row_lengths(), dtype=tf.int32)
        return {TARGET_IDS: rows.to_tensor(self.end), TARGET_MASK: mask}


def prepare_generation(
    records: list[Record], task: Task, encoder: Any, limits: Limits
) -> PreparedData:
    """The rows of all sources and of their targets.

    A source that is too long is refused, or cut and counted, as any text. A target that is longer
    than the decoder's positions is refused: the probability of a part says nothing of the whole.

    Args:
        encoder: an `EncoderDecoder`.

    Raises:
        ConfigError: the encoder has no decoder beside it.
        DataError: a text is wrong, or too long; some records have a target, and others have none.
        ArtifactError: the disk is full.
    """
    check_decoder(encoder)
    prepared = prepare_texts(records, task, encoder, limits, ("text_a",), targets.placeholders)
    missing = [record.where for record in records if record.label is None]
    end = encoder.decoder.preprocessor.special_token_ids["end_of_segment_id"]
    if len(missing) == len(records):
        return replace(prepared, targets=None, written=TargetRows(None, end))
    if missing:
        raise DataError(f"{missing[0]}: expected a target as the others have, got none; add it")
    decoder = encoder.decoder
    most = decoder.native.max_positions - 1
    tokens, lengths = _tokens(records, decoder.preprocessor, limits.memory_mb)
    long = np.flatnonzero(lengths > most)
    if len(long):
        raise DataError(
            f"{records[long[0]].where}: expected a target of at most {most} tokens, for which the "
            f"decoder has positions, got {lengths[long[0]]} ({len(long)} too long in all); shorten "
            "it, or leave the example out"
        )
    return replace(
        prepared,
        targets=targets.word_counts(record.label for record in records),
        written=TargetRows(tokens, end),
    )


def check_decoder(encoder: Any) -> None:
    """Checks that an encoder has a decoder beside it.

    Raises:
        ConfigError: it has none.
    """
    if getattr(encoder, "decoder", None) is None:
        raise ConfigError(
            "encoder.decoder: expected a causal module, which writes the text, got none; take "
            "lm_small or a GPT-2 (in Python EncoderDecoder)"
        )


def _tokens(
    records: Sequence[Record], preprocessor: Any, memory_mb: float
) -> tuple[Tokens, np.ndarray]:
    """The tokens of each target, and their number."""
    writer, lengths = TokenWriter(memory_mb), []
    for chunk in in_chunks(records):
        texts = [check_text(record.label, record.where, "label") for record in chunk]
        tokens = preprocessor.tokenize(tf.constant(texts))
        lengths.append(tokens.row_lengths().numpy())
        writer.add(tokens)
    return writer.finished(), np.concatenate(lengths)
