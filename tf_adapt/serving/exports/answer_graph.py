"""Questions and contexts as raw text → answers, in the graph of a served model."""

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from tf_adapt.data.packing.span_extraction import check_stride, fitted, tokenized
from tf_adapt.data.packing.span_windows import (
    MOST_WINDOWS,
    Contexts,
    SpanWindows,
    pack_spans,
    window_steps,
)
from tf_adapt.serving.exports.length_check import length_check
from tf_adapt.tasks.best_spans import NONE, best_answers
from tf_adapt.tasks.span_search import SpanSearch

# A context may have hundreds: the memory of a call is that of a batch.
WINDOWS_AT_ONCE = 32
# Of `best_spans`: type and rank.
_SPANS = {
    "score": (tf.float32, 2),
    "start": (tf.int32, 2),
    "end": (tf.int32, 2),
    "total": (tf.float32, 1),
    "none": (tf.float32, 1),
}


def answers_in_graph(
    questions: tf.Tensor,
    texts: tf.Tensor,
    preprocessor: Any,
    search: SpanSearch,
    limit: int,
    may_cut: bool,
    predict: Callable[[dict], dict],
) -> dict:
    """The best answer to each question in its context.

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
    check = length_check(counts, MOST_WINDOWS, "a context", "windows", may_be_cut=False)
    with tf.control_dependencies(check):
        splits = tf.concat([[0], tf.cumsum(counts)], axis=0)
    spans = SpanWindows.of(contexts, budget, search.stride)

    def spans_of(rows):
        return predict({"a": pack_spans(preprocessor, spans, rows)})

    best = best_answers(_in_slices(spans_of, tf.cast(splits[-1], tf.int32)), splits, search)
    start = tf.where(best["is_none"], NONE, best["start"][:, 0])
    end = tf.where(best["is_none"], NONE, best["end"][:, 0])
    return {
        "answer": tf.strings.substr(texts, tf.maximum(start, 0), end - start, unit="UTF8_CHAR"),
        "score": tf.where(best["is_none"], best["none"], best["probability"][:, 0]),
        "start": start,
        "end": end,
    }


def _in_slices(spans_of: Callable[[tf.Tensor], dict], count: tf.Tensor) -> dict:
    """The best spans of all windows, of some at a time.

    Args:
        spans_of: numbers of windows → `best_spans` of each.
        count: of all windows.
    """
    slices = tf.maximum((count + WINDOWS_AT_ONCE - 1) // WINDOWS_AT_ONCE, 1)
    arrays = {
        name: tf.TensorArray(dtype, slices, infer_shape=False, element_shape=[None] * rank)
        for name, (dtype, rank) in _SPANS.items()
    }

    def step(number, arrays):
        first = number * WINDOWS_AT_ONCE
        best = spans_of(tf.range(first, tf.minimum(first + WINDOWS_AT_ONCE, count)))
        return number + 1, {name: arrays[name].write(number, best[name]) for name in arrays}

    _, arrays = tf.while_loop(
        lambda number, _: number < slices, step, (0, arrays), parallel_iterations=1
    )
    return {name: array.concat() for name, array in arrays.items()}


def _length_checks(contexts: Contexts, budget: int, stride: int) -> list:
    questions = length_check(contexts.questions.row_lengths(), budget - stride, "a question")
    return questions + length_check(contexts.words.values.row_lengths(), stride, "a single word")
