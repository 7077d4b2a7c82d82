"""Further test sets of another domain (`data.shifted`): their names among those of the splits."""

from collections.abc import Iterable
from pathlib import Path

from tf_adapt.data.datasets import read_file
from tf_adapt.data.formats import Record, TaggedSentence

PREFIX = "shifted/"


def shifted_splits(names: Iterable[str]) -> list[str]:
    """Those of the splits' names that are of another domain."""
    return [name for name in names if name.startswith(PREFIX)]


def domain_of(split: str) -> str:
    """The name of a shifted split in the config."""
    return split.removeprefix(PREFIX)


def shifted_paths(data) -> dict[str, str]:
    """The file of each shifted split of a `data` section, by the split's name."""
    return {f"{PREFIX}{name}": path for name, path in (data.shifted or {}).items()}


def read_shifted(data) -> tuple[dict[str, list[Record | TaggedSentence]], dict[str, str]]:
    """The examples of the shifted splits of a named dataset, whose format the files have, and their
    descriptions.

    Raises:
        DataError: as `read_file`.
    """
    paths = shifted_paths(data)
    return {name: read_file(path, data) for name, path in paths.items()}, described(paths)


def described(paths: dict[str, str]) -> dict[str, str]:
    """A description of each shifted split, by its file."""
    return {name: f"{domain_of(name)} (file {Path(path)})" for name, path in paths.items()}
