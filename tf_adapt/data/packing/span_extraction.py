"""Questions and contexts to tokens and windows, with the checks that belong to them."""

from typing import Any

import numpy as np
import tensorflow as tf

from hub_modules.preprocess import cut_words
from tf_adapt.data.formats import Record, check_text
from tf_adapt.data.labels import check_labels
from tf_adapt.data.packing.answer_words import answer_words
from tf_adapt.data.packing.lengths import long_words, refuse_long_words
from tf_adapt.data.packing.prepared import Limits, PreparedData
from tf_adapt.data.packing.span_windows import (
    MOST_WINDOWS,
    Contexts,
    SpanWindows,
    window_steps,
    window_targets,
)
from tf_adapt.errors import ConfigError, DataError
from tf_adapt.tasks.span_search import SpanSearch, check_reader
from tf_adapt.tasks.task import Task

# Texts at a time: the offsets of all their characters are in memory.
_CHUNK = 1024


def prepare_spans(records: list[Record], task: Task, encoder: Any, limits: Limits) -> PreparedData:
    """The rows of all questions: each with one window of its context.

    Where it may cut, it cuts questions that leave no room for a window, and words that are longer
    than the stride.

    Raises:
        ConfigError: the encoder cannot read a question together with its context, or the stride is
            longer than a row.
        DataError: a text is empty, an answer is not in its context at its offset, a question or a
            word is too long, or a context has too many windows.
    """
    limit = limits.tokens
    # Words of contexts end at punctuation for every encoder: see `answer_words`.
    too_long = long_words(records, at_punctuation=True)
    if not limits.may_cut:
        refuse_long_words(too_long)
    check_reader(encoder.family)
    stride = task.spans.stride
    budget = limit - encoder.preprocessor.special_tokens(2)
    check_stride(task.spans, budget, limit)
    for record in records:
        check_text(record.text_a, record.where, "question")
        check_text(record.text_b, record.where, "context")
    labelled = any(record.label is not None for record in records)
    if labelled:
        check_labels(records, None, "data")
    contexts = _tokenized(records, encoder.preprocessor)
    lengths = contexts.questions.row_lengths().numpy()
    longest = _longest_words(contexts.words)
    cut = (lengths > budget - stride) | (longest > stride)
    cut[list(too_long)] = True
    if not limits.may_cut:
        _refuse_long_questions(records, lengths, budget - stride, limit, stride)
        _refuse_words_beyond_stride(records, longest, stride)
    contexts = fitted(contexts, budget, stride)
    _refuse_many_windows(records, contexts, budget, stride)
    spans = SpanWindows.of(contexts, budget, stride)
    question, first, end = (column.numpy() for column in tf.unstack(spans.windows, axis=1))
    special = limit - budget
    whole = lengths + contexts.words.merge_dims(1, 2).row_lengths().numpy() + special
    return PreparedData(
        preprocessor=encoder.preprocessor,
        segments=[contexts.questions, contexts.words],
        joint=True,
        lengths=end - first + contexts.questions.row_lengths().numpy()[question] + special,
        uncut_lengths=whole,
        targets=_targets(records, spans) if labelled else None,
        truncated=int(cut.sum()),
        windows=spans.windows,
        spans=spans,
        record_of=question,
    )


def check_stride(search: SpanSearch, budget: int, limit: int) -> None:
    """Checks that a row holds one token of a question beside a window as long as the stride.

    Raises:
        ConfigError: it does not.
    """
    if search.stride >= budget:
        raise ConfigError(
            f"stride: expected less than {budget}, the tokens of a row of {limit} without special "
            f"tokens, so that every window holds it beside a question, got {search.stride}; lower "
            "data.spans.stride, or raise training.max_length"
        )


def tokenized(texts: tf.Tensor, preprocessor: Any) -> tuple[tf.RaggedTensor, tf.Tensor, tf.Tensor]:
    """The tokens of each word `[texts, (words), (tokens)]`, and the words' offsets `[words]`."""
    words, first, end = answer_words(texts)
    return preprocessor.tokenize_words(words), first.values, end.values


def fitted(contexts: Contexts, budget: int, stride: int) -> Contexts:
    """Questions cut so that a window of the stride fits beside them, words cut to the stride."""
    questions = contexts.questions
    kept = tf.minimum(questions.row_lengths(), budget - stride)
    places = tf.ragged.range(questions.row_starts(), questions.row_starts() + kept)
    questions = places.with_values(tf.gather(questions.values, places.values))
    words = cut_words(contexts.words, stride)
    return Contexts(questions, words, contexts.first, contexts.end)


def _tokenized(records: list[Record], preprocessor: Any) -> Contexts:
    parts = []
    for start in range(0, len(records), _CHUNK):
        part = records[start : start + _CHUNK]
        questions, *_ = tokenized(tf.constant([record.text_a for record in part]), preprocessor)
        words = tokenized(tf.constant([record.text_b for record in part]), preprocessor)
        parts.append((questions.merge_dims(1, 2), *words))
    return Contexts(*(tf.concat(column, axis=0) for column in zip(*parts, strict=True)))


def _longest_words(words: tf.RaggedTensor) -> np.ndarray:
    longest = tf.math.unsorted_segment_max(
        words.values.row_lengths(), words.value_rowids(), words.nrows()
    )
    return longest.numpy()


def _targets(records: list[Record], spans: SpanWindows) -> tf.Tensor:
    """The first answer of each question in its windows: see `window_targets`."""
    splits = spans.contexts.words.row_splits.numpy()
    first, end = spans.contexts.first.numpy(), spans.contexts.end.numpy()
    answers = np.full([len(records), 2], -1)
    for number, record in enumerate(records):
        if not record.label.texts:
            continue
        begin, limit = splits[number], splits[number + 1]
        text, start = record.label.texts[0], record.label.starts[0]
        # The words that the answer touches: of `-1990` in `pre-1990s` both `-` and `1990s`.
        answers[number, 0] = begin + np.searchsorted(end[begin:limit], start, side="right")
        last = np.searchsorted(first[begin:limit], start + len(text)) - 1
        answers[number, 1] = begin + last
    return window_targets(spans, tf.constant(answers))


def _refuse_long_questions(
    records: list[Record], lengths: np.ndarray, most: int, limit: int, stride: int
) -> None:
    over = np.flatnonzero(lengths > most)
    if len(over):
        raise DataError(
            f"{records[over[0]].where}: expected a question of at most {most} tokens, so that a "
            f"row of {limit} holds the stride of {stride} beside it, got {lengths[over[0]]} "
            f"({len(over)} too long in all); shorten it, lower data.spans.stride, or set truncate: "
            "true"
        )


def _refuse_words_beyond_stride(records: list[Record], longest: np.ndarray, stride: int) -> None:
    over = np.flatnonzero(longest > stride)
    if len(over):
        raise DataError(
            f"{records[over[0]].where}: expected words of at most {stride} tokens, the stride, in "
            f"the context, got one of {longest[over[0]]} ({len(over)} contexts with such words); "
            "correct it, or set truncate: true"
        )


def _refuse_many_windows(
    records: list[Record], contexts: Contexts, budget: int, stride: int
) -> None:
    counts = window_steps(contexts, budget, stride)[1].numpy()
    over = np.flatnonzero(counts > MOST_WINDOWS)
    if len(over):
        tokens = contexts.words[int(over[0])].merge_dims(0, 1).shape[0]
        raise DataError(
            f"{records[over[0]].where}: expected a context of at most {MOST_WINDOWS} windows, got "
            f"one of {tokens:,} tokens, which are {counts[over[0]]:,} ({len(over)} too long in "
            "all); split the document and ask about its parts"
        )
