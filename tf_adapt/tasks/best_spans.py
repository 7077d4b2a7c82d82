"""The best answers of questions, from the logits of the windows of their contexts."""

import tensorflow as tf

from tf_adapt.tasks.span_search import SpanSearch

NONE = -1  # offset of no answer
# The score of spans that are not allowed: finite, so that the difference of two is not NaN.
LOWEST = -1e30


def best_spans(logits: tf.Tensor, inputs: dict, search: SpanSearch) -> dict:
    """The best answers in each window, best first.

    A span of words i … j scores `begin_i + end_j`; it has at most `search.longest_answer` words,
    and its first word counts in this window (`starts`), so that no span counts in two windows of a
    context.

    Shapes: logits `[rows, 1 + words, 2] float32`, of no answer, then of each word; inputs with
    `starts` `[rows, words] bool` and `first_char` and `end_char` `[rows, words] int32` → `score`
    `[rows, n_best] float32`, −1e30 where there are fewer; `start` and `end` `[rows, n_best] int32`,
    offsets in the context in characters; `total` `[rows] float32`, log Σ exp of the scores of all
    spans; `none` `[rows] float32`, the score of no answer.
    """
    # One more word that is padding, so that there is a word.
    rows, words = tf.shape(logits)[0], tf.shape(logits)[1]
    begin, end = (tf.pad(logits[:, 1:, side], [[0, 0], [0, 1]]) for side in (0, 1))
    starts = tf.pad(inputs["starts"], [[0, 0], [0, 1]])
    first_char, end_char = (
        tf.pad(inputs[name], [[0, 0], [0, 1]], constant_values=NONE)
        for name in ("first_char", "end_char")
    )
    width = tf.minimum(words, search.longest_answer)
    last = tf.range(words)[:, None] + tf.range(width)[None]  # [words, width]
    inside = last < words
    last = tf.minimum(last, words - 1)
    scores = begin[:, :, None] + tf.gather(end, last, axis=1)
    real = tf.gather(first_char != NONE, last, axis=1)
    allowed = starts[:, :, None] & real & inside
    scores = tf.reshape(tf.where(allowed, scores, LOWEST), [rows, -1])
    padding = tf.maximum(search.n_best - tf.shape(scores)[1], 0)
    padded = tf.pad(scores, [[0, 0], [0, padding]], constant_values=LOWEST)
    best, place = tf.math.top_k(padded, search.n_best)
    place = tf.minimum(place, tf.shape(scores)[1] - 1)
    first_word = place // width
    last_word = tf.gather(tf.reshape(last, [-1]), place)
    return {
        "score": best,
        "start": tf.gather(first_char, first_word, batch_dims=1),
        "end": tf.gather(end_char, last_word, batch_dims=1),
        "total": tf.reduce_logsumexp(scores, axis=1),
        "none": tf.reduce_sum(logits[:, 0], axis=1),
    }


def best_answers(windows: dict, row_splits: tf.Tensor, search: SpanSearch) -> dict:
    """The best answers to each question, from those in its windows.

    The probability of a span is `exp(score) / Σ`, with Σ over all spans of all windows and, with a
    threshold, over no answer, whose score is the lowest of the windows. A question has no answer if
    that score exceeds the best span's by more than the threshold.

    Shapes: windows, as of `best_spans`; row_splits `[questions + 1]` of the questions over the rows
    → `start`, `end` `[questions, n_best] int32` and `probability` `[questions, n_best] float32` of
    the best spans, −1 and 0 where there are fewer; `none` `[questions] float32`, the probability of
    no answer, 0 without a threshold; `margin` `[questions] float32`, the score of no answer minus
    the best span's; `is_none` `[questions] bool`.

    Source: Devlin et al. 2019, section 4.3; the probability is ours.
    """

    def by_question(values: tf.Tensor, filler: float) -> tf.Tensor:
        of_rows = tf.RaggedTensor.from_row_splits(values, row_splits)
        flat = of_rows.to_tensor(filler)
        return tf.reshape(flat, [tf.shape(flat)[0], -1])

    scores = by_question(windows["score"], LOWEST)
    best, place = tf.math.top_k(scores, search.n_best)
    starts, ends = (by_question(windows[name], NONE) for name in ("start", "end"))
    none = tf.reduce_min(by_question(windows["none"], -LOWEST), axis=1)
    total = tf.reduce_logsumexp(by_question(windows["total"], LOWEST), axis=1)
    if search.no_answer_threshold is None:
        none_probability, is_none = tf.zeros_like(none), tf.zeros_like(none, tf.bool)
    else:
        total = tf.reduce_logsumexp(tf.stack([total, none]), axis=0)
        none_probability = tf.exp(none - total)
        is_none = none - best[:, 0] > search.no_answer_threshold
    is_span = best > LOWEST / 2
    return {
        "start": tf.where(is_span, tf.gather(starts, place, batch_dims=1), NONE),
        "end": tf.where(is_span, tf.gather(ends, place, batch_dims=1), NONE),
        # Where no span is allowed, `best` and `total` are both about `LOWEST`: no probability.
        "probability": tf.where(is_span, tf.exp(best - total[:, None]), 0.0),
        "none": none_probability,
        "margin": none - best[:, 0],
        "is_none": is_none,
    }
