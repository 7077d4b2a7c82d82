"""The records that every reader returns, and checks of each example from any source."""

import math
import re
import string
from dataclasses import dataclass
from numbers import Integral, Real

from tf_adapt.data.limits import LONGEST_TEXT
from tf_adapt.errors import DataError

FLOAT32_MAX = 3.4028234663852886e38
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Answers:
    """The gold answers of a question, none if its context has none.

    Attributes:
        texts: each is a part of the context.
        starts: the offset of each in the context, in characters (Unicode code points).
    """

    texts: tuple[str, ...] = ()
    starts: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Record:
    """One text, or one pair of texts, with its label; `where` is its location for error messages.

    For multilabel tasks `label` is a sorted tuple. A question is `text_a`, the context that it is
    about `text_b`.

    Examples with the same `group` are not independent: see `tf_adapt.data.splits.groups`.
    """

    text_a: str
    text_b: str | None = None
    label: str | float | tuple[str, ...] | Answers | None = None
    where: str = ""
    genre: str | None = None
    group: str | None = None


@dataclass(frozen=True, slots=True)
class TaggedSentence:
    """One sentence of a tagging dataset; `where` is the location of its first word."""

    words: tuple[str, ...]
    tags: tuple[str, ...] | None = None
    where: str = ""
    document: int = 0


def check_length(length: int, where: str, column: str = "text") -> None:
    """Checks the number of characters of a text or a sentence.

    Raises:
        DataError: more than `LONGEST_TEXT`.
    """
    if length > LONGEST_TEXT:
        raise DataError(
            f"{where}: expected at most {LONGEST_TEXT:,} characters in column {column!r}, got "
            f"{length:,}, which take gigabytes to tokenize; split the text"
        )


def check_text(text: str, where: str, column: str = "text") -> str:
    """Returns `text` unchanged if it can be an encoder's input.

    A text is empty if it holds only ASCII white space, at which the encoders split.

    Raises:
        DataError: the text is empty, longer than `LONGEST_TEXT`, or holds a NUL or half of a
            surrogate pair.
    """
    check_length(len(text), where, column)
    if not text.strip(string.whitespace):
        raise DataError(
            f"{where}: expected a text in column {column!r}, got an empty one; "
            "fill it in or remove the example"
        )
    if "\0" in text:
        raise DataError(
            f"{where}: expected text in column {column!r}, got a NUL character; remove it"
        )
    if _SURROGATE.search(text):
        raise DataError(
            f"{where}: expected text in column {column!r}, got half of a surrogate pair, "
            "which UTF-8 cannot hold; write the character itself"
        )
    return text


def check_outer_space(label: str, where: str) -> str:
    """Returns a label or tag that has no white space around it.

    Raises:
        DataError: it has; `0 ` and `0` would be two classes.
    """
    if label != label.strip():
        raise DataError(
            f"{where}: expected a label without white space around it, got {label[:40]!r}"
        )
    return label


def check_group(group: object, where: str, column: str = "group") -> str:
    """Returns the name of a group; a whole number as its decimal digits, as in a table.

    Raises:
        DataError: it is neither text nor a whole number; as `check_text`.
    """
    if isinstance(group, Integral) and not isinstance(group, bool):
        return str(group)
    if not isinstance(group, str):
        raise DataError(
            f"{where}: expected a text or a whole number in column {column!r}, got "
            f"{type(group).__name__} {str(group)[:40]}"
        )
    return check_text(group, where, column)


def check_score(score: float, where: str) -> float:
    """Returns a regression target as a float.

    Raises:
        DataError: it is not a number, or not a finite number in float32.
    """
    if isinstance(score, bool) or not isinstance(score, Real):
        raise DataError(f"{where}: expected a number as label, got {score!r}")
    try:
        value = float(score)
    except OverflowError:
        value = math.inf
    # A comparison with NaN is false.
    if not -FLOAT32_MAX <= value <= FLOAT32_MAX:
        raise DataError(
            f"{where}: expected a finite number (float32) as label, got {value:g}; "
            "correct it or remove the example"
        )
    return value


def check_answers(answers: Answers, context: str, where: str) -> None:
    """Checks that each answer is in its context, at its offset.

    Raises:
        DataError: it is not; the message says where it is, or what the offset may count.
    """
    for text, start in zip(answers.texts, answers.starts, strict=True):
        if not text.strip():
            raise DataError(f"{where}: expected an answer with a character to show, got {text!r}")
        if start < 0 or context[start : start + len(text)] != text:
            raise DataError(
                f"{where}: expected the answer {text[:60]!r} at character {start} of its context, "
                f"got {context[max(start, 0) :][: len(text)][:60]!r}; "
                f"{_remedy(text, start, context)}"
            )


def _remedy(text: str, start: int, context: str) -> str:
    true_start = context.find(text)
    if true_start < 0:
        return "the answer is nowhere in the context: correct its text"
    for unit, encoding, size in (("bytes", "utf-8", 1), ("UTF-16 units", "utf-16-le", 2)):
        before = context.encode(encoding, "surrogatepass")[: max(start, 0) * size]
        offset = len(before.decode(encoding, "ignore"))
        if context[offset : offset + len(text)] == text:
            return f"the offset counts {unit}: in characters it is {offset}"
    return f"it begins at character {true_start}: correct answer_start"
