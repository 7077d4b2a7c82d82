"""What takes the place of an unlabelled text: words dropped or swapped, paraphrases of a file."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from tf_adapt.data.formats import Record, read_tsv
from tf_adapt.errors import ConfigError, DataError
from tf_adapt.printing.words import did_you_mean

# By name; the last has a file.
PERTURBATIONS = ("dropout", "mask", "noise", "words", "adversarial", "views", "paraphrases")
CHANGED_SHARE = 0.1


def check_perturbation(name: str, rate: float, file: str | Path | None) -> None:
    """Checks what takes the place of a text.

    Raises:
        ConfigError: there is no such perturbation, the rate is not between 0 and 1, or there is a
            file for another perturbation than paraphrases, or none for them.
    """
    if name not in PERTURBATIONS:
        raise ConfigError(
            f"perturbation: expected one of {', '.join(PERTURBATIONS)}, got {name!r}"
            f"{did_you_mean(str(name), PERTURBATIONS)}"
        )
    if not isinstance(rate, int | float) or not 0 < rate < 1:
        raise ConfigError(f"rate: expected a number between 0 and 1, got {rate!r}")
    if (name == "paraphrases") != (file is not None):
        raise ConfigError(
            "paraphrases: expected a file with perturbation paraphrases, and None with another, "
            f"got {file if file is None else str(file)!r} with {name}"
        )


def perturbed_words(text: str, rate: float, random: np.random.Generator) -> str:
    """A text with some words dropped or swapped with the next one; words are split at blanks.

    Each word is dropped with probability `rate` / 2 and else, with the same probability, swapped
    with its right neighbour. A text keeps at least one word, the first of those dropped.
    """
    words = text.split()
    draws = random.random(len(words))
    kept = [word for word, draw in zip(words, draws, strict=True) if draw >= rate / 2]
    swaps = [draw < rate for draw in draws if draw >= rate / 2]
    for place in range(len(kept) - 1):
        if swaps[place]:
            kept[place], kept[place + 1] = kept[place + 1], kept[place]
    return " ".join(kept or words[:1])


def paraphrased(records: Sequence[Record], path: str | Path) -> list[Record]:
    """The examples with the paraphrases of their texts.

    Of a pair one of the texts may have none; it stays as it is.

    Args:
        path: a TSV file with the columns `text` and `paraphrase`.

    Raises:
        DataError: the file is not such a table, has a text twice, or none for an example.
    """
    known = {}
    for line in read_tsv(path, {"text_a": "text", "text_b": "paraphrase"}, labelled=False):
        if known.setdefault(line.text_a, line.text_b) != line.text_b:
            raise DataError(
                f"{line.where}: expected one paraphrase for each text, got another one for "
                f"{_short(line.text_a)}; remove one of the lines"
            )
    with_paraphrases = []
    for record in records:
        if record.text_a not in known and record.text_b not in known:
            raise DataError(
                f"{path}: expected a paraphrase for each of the unlabelled texts, got none for "
                f"{record.where}, {_short(record.text_a)}; add a line, or leave out the text"
            )
        text_a, text_b = (known.get(text, text) for text in (record.text_a, record.text_b))
        with_paraphrases.append(replace(record, text_a=text_a, text_b=text_b))
    return with_paraphrases


def _short(text: str) -> str:
    return repr(text if len(text) <= 60 else f"{text[:60]}…")
