"""How TensorFlow's text operations read each character of Unicode, as tables for other readers."""

import functools
from collections.abc import Callable, Iterator

import numpy as np
import tensorflow as tf
import tensorflow_text

from tf_adapt.data.packing.answer_words import ALONE, BLANK
from tf_adapt.light.layout import CharactersFile

# All that is or may soon be a character: the planes between, and those for private use, are read
# as letters that no vocabulary has.
_CODES = (range(0x1, 0xD800), range(0xE000, 0x34000), range(0xE0000, 0xE1000))
_AT_ONCE = 2**14


@functools.cache
def word_piece_characters(lower_case: bool) -> CharactersFile:
    """As `BertPreprocessor` reads them by tensorflow-text's own rules."""
    normalizer = tensorflow_text.FastBertNormalizer(lower_case_nfd_strip_accents=lower_case)
    words = tensorflow_text.FastWordpieceTokenizer(
        vocab=["[UNK]", "a"], token_out_type=tf.int32, support_detokenization=False
    )
    changed: dict[str, str] = {}
    for codes in _parts():
        before = list(map(chr, codes))
        after = [text.decode() for text in normalizer.normalize(before).numpy()]
        pairs = zip(before, after, strict=True)
        changed |= {character: text for character, text in pairs if character != text}

    def between_letters(characters: list[str]) -> np.ndarray:
        return words.tokenize(tf.strings.join(["a", characters, "a"])).row_lengths().numpy()

    # Between two letters a word is three, a blank makes it two, all else one that is unknown.
    return CharactersFile(
        changed=changed,
        blanks=_ranges(lambda characters: between_letters(characters) == 2),
        alone=_ranges(lambda characters: between_letters(characters) == 3),
    )


@functools.cache
def answer_characters() -> CharactersFile:
    """As the words of answers are made of them: see `tf_adapt.data.packing.answer_words`."""
    return CharactersFile(changed={}, blanks=ranges_of(BLANK), alone=ranges_of(ALONE))


@functools.cache
def ranges_of(pattern: str) -> list[tuple[int, int]]:
    """The characters that a regular expression matches, as it is read in the graph."""
    return _ranges(lambda characters: tf.strings.regex_full_match(characters, pattern).numpy())


def _parts() -> Iterator[range]:
    for codes in _CODES:
        for start in range(0, len(codes), _AT_ONCE):
            yield codes[start : start + _AT_ONCE]


def _ranges(chosen: Callable[[list[str]], np.ndarray]) -> list[tuple[int, int]]:
    """First and last of each run of characters for which a function is true."""
    parts = [np.array(codes)[chosen(list(map(chr, codes)))] for codes in _parts()]
    codes = np.concatenate(parts)
    runs = np.split(codes, np.flatnonzero(np.diff(codes) != 1) + 1)
    return [(int(run[0]), int(run[-1])) for run in runs if len(run)]
