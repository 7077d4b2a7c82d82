"""What is too long: words, texts; and texts tokenized some at a time."""

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import chain

import numpy as np

from tf_adapt.errors import DataError

# Longer than any natural word; BERT's tokenizer and ELMo would drop most of it.
LONGEST_WORD = 1000
_CHUNK, _CHUNK_CHARACTERS = 8192, 2**21
# Word boundaries: WordPiece also splits at punctuation and around Chinese characters, others at
# white space only.
_CHINESE = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0002fa1f"
_LONG_BETWEEN_PUNCTUATION = re.compile(rf"[^\W{_CHINESE}]{{{LONGEST_WORD + 1},}}")
_LONG_BETWEEN_BLANKS = re.compile(rf"[^ \t\n\r\v\f]{{{LONGEST_WORD + 1},}}")


def in_chunks(records: Iterable) -> Iterator[list]:
    """Some examples at a time: tokenizing takes a multiple of their memory."""
    chunk, characters = [], 0
    for record in records:
        chunk.append(record)
        characters += sum(map(len, record.strings))
        if characters >= _CHUNK_CHARACTERS or len(chunk) == _CHUNK:
            yield chunk
            chunk, characters = [], 0
    if chunk:
        yield chunk


def long_words(records: Iterable, at_punctuation: bool) -> dict[int, tuple[str, int]]:
    """Index of each example with a word longer than `LONGEST_WORD` → its location and length."""
    long = _LONG_BETWEEN_PUNCTUATION if at_punctuation else _LONG_BETWEEN_BLANKS

    def words_of(text: str) -> list[str]:
        return long.findall(text) if len(text) > LONGEST_WORD else []

    by_example = {}
    for number, record in enumerate(records):
        for index, word in enumerate(chain.from_iterable(record.words_of_texts(words_of))):
            if len(word) > LONGEST_WORD:
                by_example.setdefault(number, (record.place_of(index), len(word)))
    return by_example


def refuse_long_words(long: dict[int, tuple[str, int]]) -> None:
    """Checks that nothing was found by `long_words`.

    Raises:
        DataError: something was.
    """
    for where, length in long.values():
        raise DataError(
            f"{where}: expected words of at most {LONGEST_WORD} characters, got one of {length} "
            f"({len(long)} examples with such words); correct it, or set truncate: true"
        )


def refuse_long(
    lengths: np.ndarray,
    budget: int,
    limit: int,
    where: Callable[[int], str],
    what: str = "",
    hint: str = "",
) -> None:
    """Checks that each text fits into a row.

    Args:
        where: the number of a text → its location.

    Raises:
        DataError: some do not.
    """
    over = np.flatnonzero(lengths > budget)
    if not len(over):
        return
    special = limit - budget
    raise DataError(
        f"{where(int(over[0]))}: expected at most {limit} tokens (special tokens included), got "
        f"{what}{lengths[over[0]] + special} ({len(over)} too long in all); set truncate: true, or "
        f"raise max_length if the encoder allows it{hint}"
    )
