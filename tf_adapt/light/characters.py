"""Texts → words, by tables of single characters. No TensorFlow."""

import bisect
import re
from pathlib import Path

from hub_modules.storage.json_files import read_json
from tf_adapt.light.layout import CharactersFile

# Stands for a word that is too long: no character, so that no vocabulary has it.
_UNKNOWN_WORD = "\ufffe"
_MOST_BYTES = 4  # of a character


class SplitWords(dict):
    """Texts → the same with one blank around each word, for `str.translate`.

    An entry is made when its character is first seen.

    Args:
        longest: most bytes of a word.
    """

    def __init__(self, file: Path, longest: int):
        super().__init__()
        self._table = read_json(file, CharactersFile)
        self._longest = longest
        self._may_be_long = re.compile(f"[^ ]{{{longest // _MOST_BYTES + 1},}}")

    def __call__(self, text: str) -> str:
        return self._may_be_long.sub(self._checked, text.translate(self))

    def __missing__(self, code: int) -> str:
        changed = self._table.changed.get(chr(code), chr(code))
        self[code] = "".join(map(self._spaced, changed))
        return self[code]

    def _spaced(self, character: str) -> str:
        if _is_in(self._table.blanks, character):
            return " "
        return f" {character} " if _is_in(self._table.alone, character) else character

    def _checked(self, word: re.Match) -> str:
        return _UNKNOWN_WORD if len(word[0].encode()) > self._longest else word[0]


class WordsWithPlaces:
    """A text → its words, and where each begins and ends, in characters."""

    def __init__(self, file: Path):
        table = read_json(file, CharactersFile)
        alone, blanks = _class_of(table.alone), _class_of(table.blanks)
        self._word = re.compile(f"[{alone}]|[^{alone}{blanks}]+")

    def __call__(self, text: str) -> list[tuple[str, int, int]]:
        return [(word[0], word.start(), word.end()) for word in self._word.finditer(text)]


def _is_in(ranges: list[tuple[int, int]], character: str) -> bool:
    place = bisect.bisect_right(ranges, (ord(character), 0x110000)) - 1
    return place >= 0 and ranges[place][1] >= ord(character)


def _class_of(ranges: list[tuple[int, int]]) -> str:
    return "".join(f"{re.escape(chr(a))}-{re.escape(chr(b))}" for a, b in ranges)
