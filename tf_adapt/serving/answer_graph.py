"""Questions and contexts as raw text → answers, in the graph of a served model."""

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from tf_adapt.data.prepare_spans import check_stride, fitted, tokenized
from tf_adapt.data.span_windows import (
    MOST_WINDOWS,
    Contexts,
    SpanWindows,
    pack_spans,
    window_steps,
)
from tf_adapt.serving.length_check import length_check
from tf_adapt.tasks.best_spans import NONE, best_answers
from tf_adapt.tasks.span_search import SpanSearch


def answers_in_graph(
    questions: tf.Tensor,
    texts: tf.Tensor,
    preprocessor: Any,
    search: SpanSearch,
    limit: int,
    may_cut: bool,
    predict: Callable[[dict], dict],
) -> dict:
    """The best answer to each question in its context, all windows of a call in one batch.

    Shapes: questions, texts `[batch] string` → `answer` `[batch] string`, `score`
    `[batch] float32`, `start` and `end` `[batch] int32`, as of `tf_adapt.export`.

    Args:
        limit: tokens of a row, special tokens included.
        may_cut: cut questions and words that are too long, as `prepare_spans` does.
        predict: a model's predictions for the inputs of windows.

    Raises:
        ConfigError: the stride is longer than a row.
        tf.errors.InvalidArgumentError: in the graph: a question or a word is too long, or a context
            has too many windows.
    """
    budget = limit - preprocessor.special_tokens(2)
    check_stride(search, budget, limit)
    asked, *_ = tokenized(questions, preprocessor)
    contexts = Contexts(asked.merge_dims(1, 2), *tokenized(texts, preprocessor))
    checks = [] if may_cut else _length_checks(contexts, budget, search.stride)
    with tf.control_dependencies(checks):
        contexts = fitted(contexts, budget, search.stride)
    counts = window_steps(contexts, budget, search.stride)[1]
    with tf.control_dependencies(length_check(counts, MOST_WINDOWS, "a context", "windows")):
        splits = tf.concat([[0], tf.cumsum(counts)], axis=0)
    spans = SpanWindows.of(contexts, budget, search.stride)
    inputs = pack_spans(preprocessor, spans, tf.range(splits[-1]))
    found = best_answers(predict({"a": inputs}), splits, search)
    start = tf.where(found["is_none"], NONE, found["start"][:, 0])
    end = tf.where(found["is_none"], NONE, found["end"][:, 0])
    return {
        "answer": tf.strings.substr(texts, tf.maximum(start, 0), end - start, unit="UTF8_CHAR"),
        "score": tf.where(found["is_none"], found["none"], found["probability"][:, 0]),
        "start": start,
        "end": end,
    }


def _length_checks(contexts: Contexts, budget: int, stride: int) -> list:
    questions = length_check(contexts.questions.row_lengths(), budget - stride, "a question")
    return questions + length_check(contexts.words.values.row_lengths(), stride, "a single word")
