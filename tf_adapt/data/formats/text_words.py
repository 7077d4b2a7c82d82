"""A text as words: split at white space, punctuation and Chinese characters, as BERT's modules do.

Source: `BasicTokenizer` of google-research/bert, without lower-casing and cleaning.
"""

import unicodedata

# Blocks of CJK Unified Ideographs, whose words are written without spaces between them.
_IDEOGRAPHS = (
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B820, 0x2CEAF),
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
)


def text_words(text: str) -> list[tuple[int, int]]:
    """Start and end of each word, in characters."""
    words: list[tuple[int, int]] = []
    start = None
    for position, character in enumerate(f"{text} "):
        is_space = character.isspace()
        stands_alone = not is_space and _stands_alone(character)
        if start is not None and (is_space or stands_alone):
            words.append((start, position))
            start = None
        if stands_alone:
            words.append((position, position + 1))
        elif not is_space and start is None:
            start = position
    return words


def split_text(text: str) -> tuple[str, ...]:
    """The words of a text."""
    return tuple(text[start:end] for start, end in text_words(text))


def _stands_alone(character: str) -> bool:
    code = ord(character)
    if code < 128:
        return not character.isalnum() and code > 32 and code != 127
    is_punctuation = unicodedata.category(character).startswith("P")
    return is_punctuation or any(first <= code <= last for first, last in _IDEOGRAPHS)
