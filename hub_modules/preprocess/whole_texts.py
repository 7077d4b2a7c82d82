"""Texts → an encoder's inputs in one call, with checks of type and length."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from hub_modules.errors import DataError
from hub_modules.preprocess.segments import truncate as cut_to


def pack_texts(
    preprocessor: Any, texts: Any, max_length: int | None = None, truncate: bool = False
) -> dict:
    """Tokenizes and packs texts, or pairs of texts.

    Shapes: texts, a list, an array or a tensor `[batch] string`; pairs, a tuple `(texts_a,
    texts_b)` of two such → what `preprocessor.pack` returns.

    Args:
        max_length: most positions of an input, special tokens included; None: any number.
        truncate: cut longer inputs to `max_length` instead of refusing them.

    Raises:
        DataError: texts of another type, or pairs of unequal numbers; an input is longer than
            `max_length`.
        ConfigError: the encoder encodes the texts of a pair separately.
        tf.errors.InvalidArgumentError: in a graph, instead of DataError, for errors that show only
            at run time.
    """
    columns = text_columns(texts)
    segments = tokenized(preprocessor, columns)
    if max_length is not None:
        budget = max_length - preprocessor.special_tokens(len(segments))
        if truncate:
            segments = cut_to(segments, budget)[0]
        else:
            segments = _checked_lengths(segments, budget, max_length)
    return preprocessor.pack(segments)


def tokenized(preprocessor: Any, columns: Sequence) -> list[tf.RaggedTensor]:
    """The tokens of each text of an example: `[batch] string` a text."""
    by_column = zip(tokenizers(preprocessor, len(columns)), columns, strict=True)
    return [tokenize(column) for tokenize, column in by_column]


def tokenizers(preprocessor: Any, count: int) -> list[Callable]:
    """What tokenizes each of `count` texts of an example: each may have a prompt of its own."""
    if not getattr(preprocessor, "prompts", ()):
        return [preprocessor.tokenize] * count
    return [lambda texts, n=number: preprocessor.tokenize(texts, n) for number in range(count)]


def text_columns(texts: Any) -> list[tf.Tensor]:
    """The texts as string tensors `[batch]`: one, or two for pairs.

    Raises:
        DataError, tf.errors.InvalidArgumentError: as `pack_texts`.
    """
    if not isinstance(texts, tuple):
        return [_text_tensor("texts", texts)]
    if len(texts) != 2:
        raise DataError(
            "texts: a tuple is for pairs; expected (texts_a, texts_b), two lists, got a tuple of "
            f"{len(texts)}; give single texts as a list"
        )
    pair = zip(("texts_a", "texts_b"), texts, strict=True)
    first, second = (_text_tensor(name, given) for name, given in pair)
    message = "texts_a and texts_b: expected one text of each for every pair"
    if tf.executing_eagerly():
        if first.shape != second.shape:
            raise DataError(f"{message}, got {len(first)} and {len(second)}")
        return [first, second]
    check = tf.debugging.assert_equal(tf.size(first), tf.size(second), message)
    with tf.control_dependencies([check]):
        return [tf.identity(first), second]


def _text_tensor(name: str, texts: Any) -> tf.Tensor:
    if tf.is_tensor(texts):
        if texts.dtype == tf.string and texts.shape.rank == 1:  # ragged ones have two or more
            return texts
        hint = "" if texts.dtype == tf.string else _STRING_INPUT
        raise _no_texts(name, f"a tensor {texts.dtype.name} of shape {texts.shape}{hint}")
    if isinstance(texts, keras.KerasTensor):
        raise _no_texts(name, "a keras.Input; give it to the encoder itself, which takes texts")
    if isinstance(texts, (str, bytes)):
        raise _no_texts(name, f"one text, {texts!r:.60}; put it into a list")
    is_scalar = isinstance(texts, np.ndarray) and texts.ndim == 0
    if is_scalar or isinstance(texts, dict) or not isinstance(texts, Iterable):
        raise _no_texts(name, type(texts).__name__)
    texts = list(texts)
    for position, text in enumerate(texts):
        if not isinstance(text, (str, bytes)):
            raise _no_texts(name, f"{type(text).__name__} at [{position}], {text!r:.60}")
    return tf.constant(texts, tf.string, shape=[len(texts)])


def _no_texts(name: str, got: str) -> DataError:
    return DataError(
        f"{name}: expected texts, as a list of str or an array or tensor [batch] of strings, got "
        f"{got}"
    )


def _checked_lengths(segments: list[tf.RaggedTensor], budget: int, max_length: int) -> list:
    lengths = sum(segment.row_lengths() for segment in segments)
    if tf.executing_eagerly():
        longest = int(np.max(lengths, initial=0))
        if longest <= budget:
            return segments
        got = f", got {longest + max_length - budget} at [{int(np.argmax(lengths))}]"
        raise DataError(_TOO_LONG.format(max_length) + got + _SHORTER)
    message = _TOO_LONG.format(max_length) + _SHORTER
    check = tf.debugging.assert_less_equal(lengths, tf.cast(budget, lengths.dtype), message)
    with tf.control_dependencies([check]):
        return [tf.identity(segment) for segment in segments]


_STRING_INPUT = '; let a Keras model begin with keras.Input((), dtype="string")'
_TOO_LONG = "texts: expected at most {} positions in an input, special tokens included"
_SHORTER = (
    "; shorten it, or give the encoder preprocessor(texts, max_length=…, truncate=True) instead of "
    "the texts"
)
