"""The output vocabulary of a language model: a text file, one word a line."""

from pathlib import Path

from hub_modules.errors import ArtifactError
from hub_modules.sources.files.folder import read_text

BEGIN, END, UNKNOWN = "<S>", "</S>", "<UNK>"


def read_words(path: Path) -> list[str]:
    """Words, one a line; the line number (from 0) is the id.

    Raises:
        ArtifactError: missing, not UTF-8, or as in `check_words`.
    """
    words = read_text(path).removeprefix("\ufeff").split("\n")
    if words[-1] == "":
        words.pop()
    return check_words([word.removesuffix("\r") for word in words], str(path))


def check_words(words: list[str], where: str) -> list[str]:
    """The words, after a check that they can be an output vocabulary.

    Raises:
        ArtifactError: a word is empty or a duplicate, or a special one is missing.
    """
    first_line: dict[str, int] = {}
    for number, word in enumerate(words, start=1):
        if not word:
            raise ArtifactError(f"{where}: expected a word on line {number}, got an empty line")
        if first_line.setdefault(word, number) != number:
            raise ArtifactError(
                f"{where}: the word {word!r} on line {number} is already on line "
                f"{first_line[word]}; expected each word once"
            )
    missing = [word for word in (BEGIN, END, UNKNOWN) if word not in first_line]
    if missing:
        raise ArtifactError(
            f"{where}: expected {BEGIN}, {END} and {UNKNOWN}, got none of {', '.join(missing)}; "
            "use the vocabulary that the language model was trained with"
        )
    return words
