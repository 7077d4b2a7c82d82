"""The records that every reader returns, and checks of each example from any source."""

import math
import re
import string
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

from tf_adapt.data.limits import LONGEST_TEXT
from tf_adapt.errors import DataError
from tf_adapt.tasks.tag_schemes import split_tag

FLOAT32_MAX = 3.4028234663852886e38
_SURROGATE = re.compile("[\ud800-\udfff]")
_FILE_AND_LINE = re.compile(r"(?s)(.*):([0-9]+)")


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

    Examples with the same `group` are not independent: see `tf_adapt.data.splits.groups`. `fields`
    are all columns of a row whose label is to be predicted.
    """

    text_a: str
    text_b: str | None = None
    label: str | float | tuple[str, ...] | Answers | None = None
    where: str = ""
    genre: str | None = None
    group: str | None = None
    fields: Mapping[str, Any] | None = field(default=None, compare=False, repr=False)
    document: ClassVar[int] = 0
    group_noun: ClassVar[str] = "group"
    joined_by: ClassVar[str] = ", joined by shared texts"
    kept_together: ClassVar[str] = "equal texts and groups"
    label_order: ClassVar[None] = None

    @property
    def texts(self) -> tuple[str, ...]:
        """The one text, or both."""
        return (self.text_a,) if self.text_b is None else (self.text_a, self.text_b)

    @property
    def strings(self) -> tuple[str, ...]:
        """Both texts; in place of a second one that is not there an empty text."""
        return self.text_a, self.text_b or ""

    @property
    def shown(self) -> str:
        """The first text, for a reader."""
        return self.text_a

    @property
    def is_empty(self) -> bool:
        """Whether a text has nothing to answer about."""
        return not all(text.strip(string.whitespace) for text in self.texts)

    @property
    def noun(self) -> str:
        """What an example is called."""
        return "text" if self.text_b is None else "pair"

    @property
    def target(self) -> str | float | tuple[str, ...] | Answers | None:
        """What a model is to answer, or None."""
        return self.label

    @property
    def labels(self) -> tuple:
        """The single labels: those of a set, else the one; none without a label."""
        if isinstance(self.label, tuple):
            return self.label
        return () if self.label is None else (self.label,)

    @property
    def has_label_set(self) -> bool:
        """Whether the label is a set of labels."""
        return isinstance(self.label, tuple)

    @property
    def located_labels(self) -> list[tuple[object, str]]:
        """Each label with its location.

        Raises:
            DataError: there is no label.
        """
        if self.label is None:
            raise DataError(f"{self.where}: expected a label, got none")
        return [(label, self.where) for label in self.labels]

    @property
    def ties(self) -> list[Hashable]:
        """Examples with an equal tie are not independent."""
        # A group may have the same name as a text.
        groups = [] if self.group is None else [("group", self.group)]
        return [*(("text", text) for text in self.texts), *groups]

    @property
    def content(self) -> list:
        """Texts, label and group as plain values, without the location."""
        label = self.label
        label = [label.texts, label.starts] if isinstance(label, Answers) else label
        return [self.text_a, self.text_b, label] + ([] if self.group is None else [self.group])

    def words_of_texts(self, words_of: Callable[[str], list[str]]) -> list[list[str]]:
        """The words of each text, which `words_of` cuts out of it."""
        return [words_of(text) for text in self.texts]

    def place_of(self, index: int) -> str:
        """The location of a word: that of the example."""
        return self.where

    def without_label(self) -> Self:
        """The same example without its label, which is then not checked."""
        return replace(self, label=None)


@dataclass(frozen=True, slots=True)
class TaggedSentence:
    """One sentence of a tagging dataset; `where` is the location of its first word."""

    words: tuple[str, ...]
    tags: tuple[str, ...] | None = None
    where: str = ""
    document: int = 0
    group: ClassVar[None] = None
    noun: ClassVar[str] = "sentence"
    group_noun: ClassVar[str] = "document"
    joined_by: ClassVar[str] = ""
    kept_together: ClassVar[str] = "documents, or where none are marked equal sentences,"
    has_label_set: ClassVar[bool] = False
    # Documents alone join sentences.
    ties: ClassVar[tuple] = ()

    @property
    def texts(self) -> tuple[tuple[str, ...]]:
        """The one text: its words."""
        return (self.words,)

    @property
    def is_empty(self) -> bool:
        """Whether there is no word."""
        return not self.words

    @property
    def strings(self) -> tuple[str, ...]:
        """The words."""
        return self.words

    @property
    def shown(self) -> str:
        """The sentence, for a reader."""
        return " ".join(self.words)

    @property
    def target(self) -> tuple[str, ...] | None:
        """What a model is to answer, or None."""
        return self.tags

    @property
    def labels(self) -> tuple[str, ...]:
        """The tag of each word.

        Raises:
            DataError: there are no tags, or another number than of words.
        """
        if self.tags is None:
            raise DataError(f"{self.where}: expected a tag for each word, got no tags")
        if len(self.tags) != len(self.words):
            raise DataError(
                f"{self.where}: expected {len(self.words)} tags, one for each word, "
                f"got {len(self.tags)}"
            )
        return self.tags

    @property
    def located_labels(self) -> list[tuple[object, str]]:
        """Each tag with the location of its word.

        Raises:
            DataError: as `labels`.
        """
        return [(tag, self.place_of(index)) for index, tag in enumerate(self.labels)]

    @property
    def content(self) -> list:
        """Words, tags and document as plain values, without the location."""
        return [self.words, self.tags] + ([self.document] if self.document else [])

    def words_of_texts(self, words_of: Callable[[str], list[str]]) -> list[list[str]]:
        """The words, as those of one text."""
        return [list(self.words)]

    def place_of(self, index: int) -> str:
        """The location of a word: the words of a sentence are on consecutive lines of its file."""
        match = _FILE_AND_LINE.fullmatch(self.where)
        if match:
            return f"{match[1]}:{int(match[2]) + index}"
        return f"{self.where or 'sentence'}, word {index + 1}"

    def without_label(self) -> Self:
        """The same sentence without its tags, which are then not checked."""
        return replace(self, tags=None)

    @staticmethod
    def label_order(tag: str) -> Any:
        """The key by which tags are sorted: `O` first, then by type and prefix."""
        prefix, kind = split_tag(tag)
        return tag != "O", kind, prefix


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
