"""Records to tokens: every text is tokenized and checked once, before the first batch."""

import math
from typing import Any

import tensorflow as tf

from tf_adapt.data.in_memory.records import in_memory_records
from tf_adapt.data.limits import MOST_TOKENS
from tf_adapt.data.packing.kinds import KINDS
from tf_adapt.data.packing.prepared import Limits, PreparedData
from tf_adapt.data.splits.read_splits import Splits
from tf_adapt.errors import ConfigError
from tf_adapt.tasks.task import Task


def task_of(splits: Splits) -> Task:
    """The task of a run's data."""
    return Task(
        splits.kind,
        splits.labels,
        splits.metric,
        splits.scheme,
        splits.label_range,
        spans=splits.spans,
    )


def prepare(
    records: Any,
    task: Task,
    encoder: Any,
    max_length: int | None = None,
    truncate: bool = False,
    document_context: bool = False,
    memory_mb: float = math.inf,
) -> PreparedData:
    """Tokenizes and checks all examples.

    Args:
        records: the result of a file reader, or what `in_memory_records` accepts.
        encoder: its `preprocessor`, `joint_pairs`, `max_length` and `most_positions` are used.
        max_length: most tokens of a packed row, special tokens included; by default the encoder's.
        truncate: cut longer examples, and count them; sentences in tagging are split instead, so
            that only a single word can be too long, and contexts in span extraction are read in
            windows, so that only a question or a word can.
        document_context: encode each sentence with its neighbours of the same document (consecutive
            records with the same `document`), as many as fit; outputs are for its own words only.
            Tagging with BERT only: see `tf_adapt.data.packing.context`.
        memory_mb: of texts and pairs: beyond so many megabytes the tokens of a column are on disk.

    Raises:
        ConfigError: `max_length` is out of range, or the task or the encoder does not support
            document context.
        DataError: a text or a label is wrong, or an example is too long.
        ArtifactError: the disk is full.
    """
    if document_context:
        check_document_context(task, encoder)
    records = in_memory_records(records, task)
    tokens = checked_limit(max_length, encoder)
    limits = Limits(tokens, truncate, document_context, memory_mb)
    # On the CPU, where the input pipeline runs.
    with tf.device("CPU:0"):
        return KINDS[task.kind].prepare(records, task, encoder, limits)


def checked_limit(max_length: int | None, encoder: Any) -> int:
    """Most tokens of a packed row, special tokens included; by default the encoder's.

    Raises:
        ConfigError: `max_length` is out of range.
    """
    if max_length is None:
        return encoder.max_length
    highest = encoder.most_positions or MOST_TOKENS
    lowest = encoder.preprocessor.special_tokens(2) + 1
    if not lowest <= max_length <= highest:
        raise ConfigError(
            f"max_length: expected at least {lowest} and at most {highest}, which the encoder can "
            f"take, got {max_length}"
        )
    return max_length


def check_document_context(task: Task, encoder: Any) -> None:
    """Checks that document context is possible for a task and an encoder.

    Raises:
        ConfigError: the task is not tagging, or the encoder is no BERT.
    """
    if encoder.family not in KINDS[task.kind].families_in_context:
        raise ConfigError(
            "document_context: expected kind tagging and an encoder of the family bert, got kind "
            f"{task.kind} and the family {encoder.family}; set it to false (ELMo reads each "
            "sentence by itself, as in Peters et al. 2018)"
        )
