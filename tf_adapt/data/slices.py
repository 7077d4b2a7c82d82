"""Slices of the data: which examples the words of their texts, or a list of them, select.

*Words*, of a text: it is casefolded, and ’ read as '. Runs of letters, marks and digits are words
(Unicode's categories L, M and N); everything else separates them and is no word, punctuation and
`_` too. The English clitics `n't`, `'s`, `'d`, `'m`, `'re`, `'ve`, `'ll` at the end of one are
words of their own: `don't` is `do`, `n't`. For tagging: the words of the data, casefolded.

*Either text*: what is said of a text holds for a pair if it holds for one of its two texts.

Imports no TensorFlow.
"""

import re
import unicodedata
from collections.abc import Collection, Sequence
from pathlib import Path

import numpy as np

from tf_adapt.data.formats import Record, TaggedSentence
from tf_adapt.data.formats.text import read_lines
from tf_adapt.errors import DataError

Examples = Sequence[Record] | Sequence[TaggedSentence]
_CLITIC = r"'(?:s|d|m|re|ve|ll)"
_WORD = re.compile(
    rf"[^ ']+?(?=n't(?![^ ']))|n't(?![^ '])|{_CLITIC}(?![^ '])|[^ ']+"  # blanks separate
)


class _Separators(dict):
    """For `str.translate`: a blank for each character that is in no word, found once."""

    def __missing__(self, code: int) -> int:
        character = chr(code)
        is_part = unicodedata.category(character)[0] in "LMN" or character == "'"
        self[code] = code if is_part else ord(" ")
        return self[code]


_SEPARATORS = _Separators()


def words_of(text: str) -> list[str]:
    """The words of a text, as at the top of this file."""
    return _WORD.findall(_folded(text).translate(_SEPARATORS))


def word_overlap(example: Record) -> float:
    """Jaccard's index of the two sets of words of a pair: `|A ∩ B| / |A ∪ B|`, 0 without words."""
    a, b = map(set, _words(example))
    return len(a & b) / max(len(a | b), 1)


def with_words(examples: Examples, words: Collection[str]) -> np.ndarray:
    """Which examples have one of these words in either text; case does not count.

    Shapes: → `[examples] bool`.
    """
    wanted = set(map(_folded, words))
    return _mask(
        any(not wanted.isdisjoint(text) for text in _words(example)) for example in examples
    )


def longer_than(examples: Examples, count: int) -> np.ndarray:
    """Which examples have more than `count` words in either text. Shapes: → `[examples] bool`."""
    return _mask(any(len(text) > count for text in _words(example)) for example in examples)


def with_overlap(examples: Sequence[Record], above: float) -> np.ndarray:
    """Which pairs have a `word_overlap` above a number. Shapes: → `[examples] bool`."""
    return _mask(word_overlap(example) > above for example in examples)


def read_places(path: str | Path) -> list[str]:
    """The places that a file lists, one a line: those of examples, as messages and reports show.

    A place is FILE:LINE (TensorFlow Datasets: NAME:SPLIT[INDEX]), of a tagged sentence that of its
    first word. FILE is the name of a file of the data, with as much of its path as it takes to be
    the only one.

    Raises:
        DataError: as `read_lines`; a line is empty; there is none.
    """
    places = read_lines(path)
    for number, place in enumerate(places, start=1):
        if not place.strip():
            raise DataError(
                f"{path}:{number}: expected the place of an example, FILE:LINE, got an empty line; "
                "remove it"
            )
    if not places:
        raise DataError(f"{path}: expected places of examples, FILE:LINE, one a line; got none")
    return [place.strip() for place in places]


def at_places(examples: Examples, places: Collection[str]) -> np.ndarray:
    """Which examples are at one of the places of `read_places`. Shapes: → `[examples] bool`."""
    wanted = set(places)
    return _mask(not wanted.isdisjoint(_names(example.where)) for example in examples)


def check_places(path: str | Path, places: Sequence[str], examples: Examples) -> None:
    """Checks that each place is that of exactly one of the examples.

    Raises:
        DataError: it is of none, or of several.
    """
    found_at: dict[str, list[str]] = {place: [] for place in places}
    for example in examples:
        for name in _names(example.where):
            if name in found_at:
                found_at[name].append(example.where)
    for number, place in enumerate(places, start=1):
        if not found_at[place]:
            raise DataError(
                f"{path}:{number}: expected the place of an example of dev or test, such as "
                f"{Path(examples[0].where).name}, got {place!r}; correct it or remove the line"
            )
        if len(found_at[place]) > 1:
            raise DataError(
                f"{path}:{number}: expected the place of one example, got {place!r}, which is that "
                f"of {' and '.join(found_at[place][:2])}; write more of the path"
            )


def _words(example: Record | TaggedSentence) -> list[list[str]]:
    """The words of each text of an example."""
    return [list(map(_folded, text)) for text in example.words_of_texts(words_of)]


def _folded(text: str) -> str:
    return text.casefold().replace("’", "'")


def _names(where: str) -> list[str]:
    """A place with all of its path, with less and less, and with the file's name alone."""
    parts = where.split("/")
    return ["/".join(parts[start:]) for start in range(len(parts))]


def _mask(values) -> np.ndarray:
    return np.fromiter(values, dtype=bool)
