"""Questions with the windows of their contexts, as rows of an encoder, in the graph.

A context that is longer than a row allows is read in several windows, each with the question before
it; a window is cut between tokens, and only its whole words can begin or end an answer.
"""

from dataclasses import dataclass
from typing import Any

import tensorflow as tf

# Of one context: 256 with a stride of 128 are more than 30,000 tokens.
MOST_WINDOWS = 256


@dataclass(frozen=True)
class Contexts:
    """Tokenized questions and contexts.

    Attributes:
        questions: `[questions, (tokens)]`.
        words: of the contexts, `[questions, (words), (tokens)]`, no word empty.
        first, end: offset of each word of all contexts in its context, `[words] int32`, in
            characters: of its first character, and after its last.
    """

    questions: tf.RaggedTensor
    words: tf.RaggedTensor
    first: tf.Tensor
    end: tf.Tensor


@dataclass(frozen=True)
class SpanWindows:
    """The rows of questions with the windows of their contexts.

    Attributes:
        windows: `[rows, 3] int64`, see `context_windows`; those of a question follow one another.
        counted: `[words] int64`, see `counted_starts`.
    """

    contexts: Contexts
    windows: tf.Tensor
    counted: tf.Tensor

    @classmethod
    def of(cls, contexts: Contexts, budget: int, stride: int) -> "SpanWindows":
        """The windows of contexts whose rooms hold their longest word."""
        windows = context_windows(contexts, budget, stride)
        return cls(contexts, windows, counted_starts(contexts, windows))


def window_rooms(contexts: Contexts, budget: int) -> tf.Tensor:
    """How many tokens of its context fit into a row with each question: `[questions] int64`.

    Args:
        budget: tokens of a row without special tokens.
    """
    return tf.cast(budget, tf.int64) - contexts.questions.row_lengths()


def window_steps(contexts: Contexts, budget: int, stride: int) -> tuple[tf.Tensor, tf.Tensor]:
    """Tokens from one window of each context to the next, and the number of its windows.

    The step is `stride`, or less where words are so long that one could lie in no window as a
    whole: `min(stride, room − longest word + 1)`.

    Shapes: → `[questions] int64` twice.
    """
    lengths = contexts.words.values.row_lengths()
    owners = contexts.words.value_rowids()
    count = contexts.words.nrows()
    # 0 for a context without words.
    longest = tf.maximum(tf.math.unsorted_segment_max(lengths, owners, count), 0)
    rooms = window_rooms(contexts, budget)
    steps = tf.maximum(tf.minimum(tf.cast(stride, tf.int64), rooms - longest + 1), 1)
    missing = tf.maximum(tf.math.unsorted_segment_sum(lengths, owners, count) - rooms, 0)
    return steps, 1 + (missing + steps - 1) // steps


def context_windows(contexts: Contexts, budget: int, stride: int) -> tf.Tensor:
    """The windows of each context, of as many tokens as fit into a row beside the question.

    Window k of a context begins at its token `k · step` (see `window_steps`); the last is the first
    that reaches the end.

    Shapes: → `[rows, 3] int64`: the number of the question, and the first token of the window and
    the one after its last, as indices into the tokens of all contexts.

    Source: Devlin et al. 2019 (google-research/bert, SQuAD), with windows that hold every word.
    """
    steps, counts = window_steps(contexts, budget, stride)
    splits = contexts.words.merge_dims(1, 2).row_splits
    numbers = tf.ragged.range(counts)
    question = numbers.value_rowids()
    start, limit = tf.gather(splits[:-1], question), tf.gather(splits[1:], question)
    first = start + numbers.values * tf.gather(steps, question)
    end = tf.minimum(first + tf.gather(window_rooms(contexts, budget), question), limit)
    return tf.stack([question, first, end], axis=1)


def pack_spans(preprocessor: Any, spans: SpanWindows, index: tf.Tensor) -> dict:
    """An encoder's inputs for the windows at `index`, and where the words of each window are.

    A row is `[CLS] question [SEP] window [SEP]`, for ELMo the words of both.

    Shapes: index `[batch]` → the encoder's inputs `[batch, time]`; for each whole word of the
    window, `[batch, words]`: `first_piece` and `last_piece`, the positions of its first and last
    token in the row, −1 at padding; `first_char` and `end_char`, its offsets in the context, −1 at
    padding; and `starts` bool, whether an answer that begins with it counts in this window: see
    `counted_starts`.
    """
    contexts = spans.contexts
    question, first, end = tf.unstack(tf.gather(spans.windows, index), num=3, axis=1)
    questions = tf.gather(contexts.questions, question)
    tokens = _taken(contexts.words.flat_values, tf.ragged.range(first, end))
    special = preprocessor.special_tokens(2)
    joined = [questions, tokens] if special else [tf.concat([questions, tokens], axis=1)]
    # One special token comes after the window, the others before it.
    before = questions.row_lengths() + max(special - 1, 0)
    splits = contexts.words.values.row_splits
    word_first, word_end = splits[:-1], splits[1:]
    words = tf.ragged.range(*_whole_words(contexts, first, end))
    row = words.value_rowids()

    def in_row(token: tf.Tensor) -> tf.Tensor:
        places = token - tf.gather(first, row) + tf.gather(before, row)
        return words.with_values(tf.cast(places, tf.int32)).to_tensor(-1)

    counted = tf.gather(spans.counted, words.values)
    window = tf.cast(tf.gather(index, row), counted.dtype)
    return preprocessor.pack(joined) | {
        "first_piece": in_row(tf.gather(word_first, words.values)),
        "last_piece": in_row(tf.gather(word_end, words.values) - 1),
        "first_char": _taken(contexts.first, words).to_tensor(-1),
        "end_char": _taken(contexts.end, words).to_tensor(-1),
        "starts": words.with_values(counted == window).to_tensor(False),
    }


def counted_starts(contexts: Contexts, windows: tf.Tensor) -> tf.Tensor:
    """For each word the row in which answers that begin with it count.

    Of the windows that hold all of the word, the one with the most context on its poorer side; of
    equal ones, the first.

    Shapes: → `[words] int64`, an index into `windows`.

    Source: Devlin et al. 2019 (google-research/bert, SQuAD: the window with maximum context).
    """
    splits = contexts.words.values.row_splits
    first, end = windows[:, 1], windows[:, 2]
    words = tf.ragged.range(*_whole_words(contexts, first, end))
    row = words.value_rowids()
    left = tf.gather(splits[:-1], words.values) - tf.gather(first, row)
    right = tf.gather(end, row) - tf.gather(splits[1:], words.values)
    context = tf.minimum(left, right)
    count = contexts.words.values.nrows()
    most = tf.math.unsorted_segment_max(context, words.values, count)
    is_most = context == tf.gather(most, words.values)
    rows = tf.where(is_most, row, tf.shape(windows, out_type=row.dtype)[0])
    return tf.math.unsorted_segment_min(rows, words.values, count)


def window_targets(spans: SpanWindows, answers: tf.Tensor) -> tf.Tensor:
    """The first and last word of the answer in each window, from 1; 0 if it is not in there.

    Shapes: answers `[questions, 2] int64`, the first and last word of each question's answer, as
    indices into the words of all contexts, −1 for none → `[rows, 2] int32`.
    """
    question, first, end = tf.unstack(spans.windows, num=3, axis=1)
    begin, limit = _whole_words(spans.contexts, first, end)
    start, last = tf.unstack(tf.cast(tf.gather(answers, question), begin.dtype), num=2, axis=1)
    inside = (start >= begin) & (last < limit)
    numbers = tf.stack([start - begin + 1, last - begin + 1], axis=1)
    return tf.where(inside[:, None], numbers, 0)


def _whole_words(
    contexts: Contexts, first: tf.Tensor, end: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor]:
    """The first word that lies in each window as a whole, and the one after the last."""
    splits = contexts.words.values.row_splits
    return tf.searchsorted(splits[:-1], first), tf.searchsorted(splits[1:], end, side="right")


def _taken(values: tf.Tensor, index: tf.RaggedTensor) -> tf.RaggedTensor:
    return index.with_values(tf.gather(values, index.values))
