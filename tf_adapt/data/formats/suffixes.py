"""The format of a data file by its name."""

import os
from pathlib import Path

SUFFIXES = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".conll": "conll",
    ".bio": "conll",
    ".iob": "conll",
}


def suffix_of(path: str | os.PathLike) -> str:
    """The suffix in lower case; of `reviews.csv.gz` that before `.gz`."""
    name = Path(str(path))
    return Path(name.stem if is_gzip(name) else name.name).suffix.lower()


def is_gzip(path: str | os.PathLike) -> bool:
    """Whether the name says that the file is packed with gzip."""
    return Path(str(path)).suffix.lower() == ".gz"
