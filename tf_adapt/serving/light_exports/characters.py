"""How TensorFlow's text operations read each character of Unicode, as tables for other readers."""

import functools

import numpy as np
import tensorflow as tf
import tensorflow_text

from tf_adapt.data.packing.answer_words import ALONE, BLANK
from tf_adapt.light.layout import CharactersFile

_LAST = 0x10FFFF
_SURROGATES = range(0xD800, 0xE000)


@functools.cache
def word_piece_characters(lower_case: bool) -> CharactersFile:
    """As `BertPreprocessor` reads them by tensorflow-text's own rules."""
    characters = _all_characters()
    normalizer = tensorflow_text.FastBertNormalizer(lower_case_nfd_strip_accents=lower_case)
    changed = {
        before: after.decode()
        for before, after in zip(characters, normalizer.normalize(characters).numpy(), strict=True)
        if before != after.decode()
    }
    # Between two letters a word is three, a blank makes it two, all else one that is unknown.
    words = tensorflow_text.FastWordpieceTokenizer(
        vocab=["[UNK]", "a"], token_out_type=tf.int32, support_detokenization=False
    )
    pieces = words.tokenize(tf.strings.join(["a", characters, "a"])).row_lengths().numpy()
    return CharactersFile(
        changed=changed,
        blanks=_ranges(characters, pieces == 2),
        alone=_ranges(characters, pieces == 3),
    )


@functools.cache
def answer_characters() -> CharactersFile:
    """As the words of answers are made of them: see `tf_adapt.data.packing.answer_words`."""
    return CharactersFile(changed={}, blanks=ranges_of(BLANK), alone=ranges_of(ALONE))


def ranges_of(pattern: str) -> list[tuple[int, int]]:
    """The characters that a regular expression matches, as it is read in the graph."""
    characters = _all_characters()
    matches = tf.strings.regex_full_match(tf.constant(characters), pattern).numpy()
    return _ranges(characters, matches)


@functools.cache
def _all_characters() -> list[str]:
    """All that can be in a text: no NUL."""
    return [chr(code) for code in range(1, _LAST + 1) if code not in _SURROGATES]


def _ranges(characters: list[str], chosen: np.ndarray) -> list[tuple[int, int]]:
    """First and last of each run of chosen characters; one does not span the surrogates."""
    codes = np.array([ord(characters[number]) for number in np.flatnonzero(chosen)], int)
    if not len(codes):
        return []
    breaks = np.flatnonzero(np.diff(codes) != 1) + 1
    return [(int(run[0]), int(run[-1])) for run in np.split(codes, breaks)]
