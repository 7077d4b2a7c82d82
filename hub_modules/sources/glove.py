"""Word vectors in GloVe's text format: a line is a word and its numbers, separated by blanks.

word2vec's text format, which has a first line `count width` more, is read too. The file is data:
it is read as numbers, and nothing of it is executed.
"""

import contextlib
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hub_modules.errors import ArtifactError

# The largest published file, glove.840B.300d.txt, has 5.3 GiB.
LARGEST_BYTES = 6 * 2**30
_LONGEST_LINE = 2**20
_LARGEST_NUMBER = float(np.finfo(np.float32).max)
UNKNOWN = "<unk>"
_REMEDY = "correct the line, or take the file again from where it was published"


@dataclass(frozen=True)
class WordVectors:
    """The vectors of a file.

    Attributes:
        words: in the file's order.
        vectors: `[1 + words, width] float32`; the first is that of unknown words: the file's
            `<unk>`, which GloVe's program writes where it is asked to, else the mean of all.
        lower_case: whether no word has an upper-case letter.
        sha256: hash of the file's content.
    """

    words: list[str]
    vectors: np.ndarray
    lower_case: bool
    sha256: str


def read_word_vectors(path: Path) -> WordVectors:
    """Reads a file of word vectors, once.

    Raises:
        ArtifactError: it is missing, empty or too large; a line is not UTF-8 or too long, has the
            wrong number of values, a value that is no finite number, or a word that an earlier line
            has; a first line `count width` is not true.
    """
    digest = hashlib.sha256()
    try:
        size = path.stat().st_size
        if size > LARGEST_BYTES:
            raise ArtifactError(
                f"{path}: expected at most {LARGEST_BYTES:,} bytes of word vectors, got {size:,}; "
                "keep the lines of the words that you need (the most frequent ones come first)"
            )
        with open(path, "rb") as file:
            words, values = _read(path, _lines(path, file, digest))
    except OSError as error:
        raise ArtifactError(f"{path}: cannot be read ({error.strerror})") from None
    vectors = np.frombuffer(values, np.float32).reshape(len(words) + 1, -1)
    unknown = words.get(UNKNOWN)
    vectors[0] = vectors[1:].mean(axis=0, dtype=np.float64) if unknown is None else vectors[unknown]
    lower_case = not any(letter.isupper() for word in words for letter in word)
    return WordVectors(list(words), vectors, lower_case, digest.hexdigest())


def _lines(path: Path, file, digest) -> Iterator[tuple[int, str]]:
    """Number and text of each line, without the blanks and the break at its end."""
    number = 0
    while line := file.readline(_LONGEST_LINE + 1):
        number += 1
        digest.update(line)
        if len(line) > _LONGEST_LINE:
            raise ArtifactError(
                f"{path}:{number}: expected a word and its numbers, got a line of more than "
                f"{_LONGEST_LINE:,} bytes; give a file of word vectors in text form"
            )
        try:
            text = line.decode("utf-8")
        except UnicodeDecodeError as error:
            raise ArtifactError(
                f"{path}:{number}: expected UTF-8, got the byte 0x{line[error.start]:02x}; give a "
                "file of word vectors in text form, converted to UTF-8"
            ) from None
        if "\0" in text:
            raise ArtifactError(
                f"{path}:{number}: expected a word and its numbers, got NUL; give a file of word "
                "vectors in text form"
            )
        yield number, text.rstrip(" \r\n")


def _read(path: Path, lines: Iterator[tuple[int, str]]) -> tuple[dict[str, int], bytearray]:
    """Each word with its row, and the rows' values; row 0 is left free."""
    words: dict[str, int] = {}
    values, width, header, first = bytearray(), None, None, 1
    for number, text in lines:
        if number == 1 and (header := _header(text)):
            first = 2
            continue
        if width is None:
            width = text.count(" ") or 1
            if header and header[1] != width:
                raise ArtifactError(
                    f"{path}:1: expected the width of the vectors, {width} as in line 2, got "
                    f"{header[1]}; {_REMEDY}"
                )
            values += bytes(4 * width)
        word, row = _word_and_values(path, number, text, width, first)
        if word in words:
            raise ArtifactError(
                f"{path}:{number}: the word {word!r:.60} is already on line "
                f"{words[word] + first - 1}; expected each word once; remove one of the two lines"
            )
        words[word] = len(words) + 1
        values += row.tobytes()
    if not words:
        raise ArtifactError(
            f"{path}: expected word vectors, one word and its numbers a line, got none; give a "
            "file in GloVe's text format"
        )
    if header and header[0] != len(words):
        raise ArtifactError(
            f"{path}:1: expected {header[0]:,} words, as this line says, got {len(words):,}; the "
            "file is incomplete: take it again from where it was published"
        )
    return words, values


def _header(text: str) -> tuple[int, int] | None:
    """word2vec's first line, `count width`."""
    parts = text.split(" ")
    numbers = len(parts) == 2 and all(part.isascii() and part.isdecimal() for part in parts)
    return (int(parts[0]), int(parts[1])) if numbers else None


def _word_and_values(
    path: Path, number: int, text: str, width: int, first: int
) -> tuple[str, np.ndarray]:
    # From the right: a few published words have blanks inside, such as ". . .".
    word, *numbers = text.rsplit(" ", width)
    if len(numbers) < width or not word or any(map(_is_finite, word.split(" ")[1:])):
        got = max(len(text.split(" ")) - 1, 0)
        raise ArtifactError(
            f"{path}:{number}: expected a word and {width} numbers, as in line {first}, got "
            f"{_shown(text)} and {got}; {_REMEDY}"
        )
    row = np.array([np.nan])
    if _is_plain(text[len(word) :]):
        with contextlib.suppress(ValueError):
            row = np.array([float(value) for value in numbers])
    if not (np.abs(row) <= _LARGEST_NUMBER).all():
        place = next(place for place, value in enumerate(numbers) if not _is_finite(value))
        raise ArtifactError(
            f"{path}:{number}: expected a finite number as value {place + 1} of {word!r:.60}, got "
            f"{numbers[place]!r:.60}; {_REMEDY}"
        )
    return word, row.astype(np.float32)


def _is_plain(numbers: str) -> bool:
    """Whether `float` reads them as other programs do: it also takes 1_0 and other digits."""
    return numbers.isascii() and "_" not in numbers


def _is_finite(text: str) -> bool:
    try:
        return _is_plain(text) and abs(float(text)) <= _LARGEST_NUMBER
    except ValueError:
        return False


def _shown(text: str) -> str:
    return repr(text.split(" ")[0])[:60] if text else "an empty line"
