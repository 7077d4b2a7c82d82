"""Running text from plain text files, one paragraph a line; files named `.gz` are unpacked."""

import os
import string
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hub_modules.storage.files import sha256
from tf_adapt.data.formats.text import no_examples, read_lines
from tf_adapt.errors import DataError


@dataclass(frozen=True)
class RunningText:
    """The paragraphs of some files, in their order.

    Attributes:
        words: number of words, as white space separates them.
        hashes: SHA-256 of each file, by its name.
    """

    paragraphs: list[str]
    words: int
    hashes: dict[str, str]


def read_running_text(paths: Sequence[str | os.PathLike]) -> RunningText:
    """Reads files; lines of white space alone separate paragraphs, and are no paragraphs.

    Raises:
        DataError: as `read_lines`; a file holds no text, or two files have the same name.
    """
    paragraphs: list[str] = []
    hashes: dict[str, str] = {}
    for path in map(Path, paths):
        if path.name in hashes:
            raise DataError(
                f"{path}: expected files of different names, got two called {path.name}, which "
                "the module's card could not tell apart; rename one"
            )
        lines = read_lines(path)
        in_file = [line for line in lines if line.strip(string.whitespace)]
        if not in_file:
            raise no_examples(path)
        paragraphs += in_file
        hashes[path.name] = sha256(path)
    return RunningText(paragraphs, sum(len(line.split()) for line in paragraphs), hashes)
