"""Questions and contexts → windows, and the best answers in them, in NumPy. No TensorFlow.

As `tf_adapt.data.packing.span_windows` and `tf_adapt.tasks.best_spans`, which say what is computed.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from tf_adapt.light.rows import Tokens, Words, check_length

# Of one context.
MOST_WINDOWS = 256
# The score of spans that are not allowed.
_LOWEST = -1e30


@dataclass(frozen=True)
class Context:
    """A tokenized question with its context.

    Attributes:
        words: tokens of each word of the context.
        first, end: `[words]`, the offsets of each word in the context, in characters.
    """

    question: Tokens
    words: Words
    first: np.ndarray
    end: np.ndarray

    def windows(self, budget: int, stride: int) -> list["Window"]:
        """The windows of a row of `budget` tokens without special ones.

        Raises:
            DataError: they are too many.
        """
        lengths = np.array(list(map(len, self.words)), int)
        splits = np.concatenate([[0], np.cumsum(lengths)])
        room = budget - len(self.question)
        step = max(min(stride, room - lengths.max(initial=0) + 1), 1)
        missing = max(int(splits[-1]) - room, 0)
        count = 1 + -(-missing // step)
        check_length([count], MOST_WINDOWS, "a context", "windows", may_be_cut=False)
        bounds = [
            (number * step, min(number * step + room, int(splits[-1]))) for number in range(count)
        ]
        counted = _counted_in(splits, bounds)
        tokens = [token for word in self.words for token in word]
        made = []
        for number, (first, end) in enumerate(bounds):
            # The words that lie in the window as a whole.
            inside = slice(
                int(np.searchsorted(splits[:-1], first)),
                int(np.searchsorted(splits[1:], end, side="right")),
            )
            made.append(
                Window(
                    [self.question, tokens[first:end]],
                    splits[:-1][inside] - first,
                    splits[1:][inside] - first - 1,
                    self.first[inside],
                    self.end[inside],
                    counted[inside] == number,
                )
            )
        return made


@dataclass(frozen=True)
class Window:
    """A row: a question and a window of its context.

    Attributes:
        segments: tokens of both.
        first_token, last_token: of each word, counted from the window's beginning.
        first_char, end_char: the word's offsets in the context.
        starts: whether answers that begin with the word count in this window.
    """

    segments: list[Tokens]
    first_token: np.ndarray
    last_token: np.ndarray
    first_char: np.ndarray
    end_char: np.ndarray
    starts: np.ndarray


def _counted_in(splits: np.ndarray, bounds: list[tuple[int, int]]) -> np.ndarray:
    """For each word the window, of those that hold it, with the most context on its poorer side."""
    first, end = (np.array(column)[:, None] for column in zip(*bounds, strict=True))
    context = np.minimum(splits[:-1] - first, end - splits[1:])  # [windows, words]
    return np.argmax(context, axis=0)


def best_spans(logits: np.ndarray, window: Window, search: Any) -> dict[str, np.ndarray]:
    """The best answers in a window, as `tf_adapt.tasks.best_spans.best_spans` of one row.

    Args:
        logits: `[1 + words, 2]`, of no answer, then of each word of the window.
    """
    words = len(window.starts)
    begin, end = logits[1 : 1 + words].T.astype("float32")
    width = max(min(words, search.longest_answer), 1)
    last = np.arange(words)[:, None] + np.arange(width)  # [words, width]
    inside = last < words
    last = np.minimum(last, max(words - 1, 0))
    scores = np.where(window.starts[:, None] & inside, begin[:, None] + end[last], _LOWEST)
    flat = scores.reshape(-1)
    place = np.argsort(-flat, kind="stable")[: search.n_best]
    return {
        "score": flat[place],
        "start": window.first_char[place // width],
        "end": window.end_char[last.reshape(-1)[place]],
        "total": _log_sum(flat),
        "none": logits[0].sum(),
    }


def _log_sum(scores: np.ndarray) -> float:
    """The logarithm of the sum of many powers: one after the other in float32, errors would add."""
    most = scores.max(initial=_LOWEST)
    powers = np.exp(scores - most, dtype="float64")
    return float(most + np.log(powers.sum())) if len(scores) else _LOWEST


def best_answer(windows: list[dict[str, np.ndarray]], search: Any) -> tuple[float, int, int]:
    """Score and offsets of the best answer in all windows of a context; −1 for none."""
    scores, starts, ends = (
        np.concatenate([window[name] for window in windows]) for name in ("score", "start", "end")
    )
    none = np.min([window["none"] for window in windows])
    total = np.logaddexp.reduce([window["total"] for window in windows])
    threshold = search.no_answer_threshold
    place = int(np.argmax(scores)) if len(scores) else None
    best = _LOWEST if place is None else scores[place]
    if threshold is not None:
        total = np.logaddexp(total, none)
        if none - best > threshold:
            return float(np.exp(none - total)), -1, -1
    if best <= _LOWEST / 2:
        return 0.0, -1, -1
    return float(np.exp(best - total)), int(starts[place]), int(ends[place])
