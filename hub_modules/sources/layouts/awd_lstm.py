"""Shared by all sources of AWD-LSTMs: the shapes of our weights, and the vocabulary."""

from pathlib import Path

from hub_modules.errors import ArtifactError
from hub_modules.preprocess.lstm_words import PADDING, PADDING_WORD, UNKNOWN, UNKNOWN_WORD
from hub_modules.sources.files.folder import read_text

LARGEST_VOCABULARY = 64 * 2**20


def awd_lstm_shapes(config: dict) -> dict[str, tuple[int, ...]]:
    """Our name → shape, of every weight of `AwdLstmEncoder(**config)`."""
    width, inner, layers = config["width"], config["lstm_width"], config["num_layers"]
    shapes: dict[str, tuple[int, ...]] = {
        "embeddings/word_embeddings": (config["vocabulary_size"], width)
    }
    rows = width
    for layer in range(layers):
        units = width if layer == layers - 1 else inner
        shapes[f"lstm_{layer}/kernel"] = (rows, 4 * units)
        shapes[f"lstm_{layer}/recurrent_kernel"] = (units, 4 * units)
        shapes[f"lstm_{layer}/bias"] = (4 * units,)
        rows = units
    return shapes


def read_lstm_words(path: Path, rows: int) -> list[str]:
    """The vocabulary of a module of ours, one word a line: padding, the unknown word, the others.

    Raises:
        ArtifactError: missing, not UTF-8, as in `check_lstm_words`, or it begins with other words.
    """
    words = check_lstm_words(read_text(path, LARGEST_VOCABULARY), rows, str(path))
    if (words[PADDING], words[UNKNOWN]) != (PADDING_WORD, UNKNOWN_WORD):
        raise ArtifactError(
            f"{path}:1: expected {PADDING_WORD} and {UNKNOWN_WORD} at the beginning, got "
            f"{words[PADDING]!r} and {words[UNKNOWN]!r}; convert the module again"
        )
    return words


def check_lstm_words(text: str, rows: int, where: str) -> list[str]:
    """The words of a vocabulary, one a line.

    Args:
        rows: of the word embeddings.

    Raises:
        ArtifactError: a word is empty or a duplicate, one of padding and the unknown word is
            missing, or there are not as many words as rows.
    """
    words = [word.removesuffix("\r") for word in text.removeprefix("\ufeff").split("\n")]
    if words[-1] == "":
        words.pop()
    lines: dict[str, int] = {}
    for number, word in enumerate(words, start=1):
        if not word:
            raise ArtifactError(f"{where}:{number}: expected a word, got an empty line")
        if lines.setdefault(word, number) != number:
            raise ArtifactError(
                f"{where}:{number}: the word {word!r} is already on line {lines[word]}; expected "
                "each word once"
            )
    missing = [word for word in (UNKNOWN_WORD, PADDING_WORD) if word not in lines]
    if missing:
        raise ArtifactError(
            f"{where}: expected {UNKNOWN_WORD} and {PADDING_WORD}, got none of "
            f"{', '.join(missing)}; use the vocabulary that belongs to the weights"
        )
    if len(words) != rows:
        raise ArtifactError(
            f"{where}: expected {rows} words, as many as the word embeddings have rows, got "
            f"{len(words)}; use the vocabulary that belongs to the weights"
        )
    return words
