"""Examples, or lines, as a list; on disk where they are too many."""

import dataclasses
import functools
import io
import itertools
import pickle
from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from tf_adapt.data.stored.unnamed_file import UnnamedFile

BLOCK = 256  # values that are written and read at once


class OnDisk(Sequence):
    """Values in a file, of which one block at a time is in memory.

    Args:
        file: the blocks, pickled.
        ends: where each begins, and the last one ends.
        places: the number of each value in the file.
    """

    def __init__(self, file: UnnamedFile, ends: Sequence[int], places: Sequence[int]):
        self._file, self._ends, self.places = file, ends, places
        self._last: tuple[int, list] = (-1, [])

    def __len__(self) -> int:
        return len(self.places)

    def __getitem__(self, place: int | slice) -> Any:
        if isinstance(place, slice):
            return self.at(range(len(self))[place])
        number, within = divmod(self.places[place], BLOCK)
        return self._block(number)[within]

    def __iter__(self) -> Iterator[Any]:
        return map(self.__getitem__, range(len(self)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or len(self) != len(other):
            return False
        return all(one == two for one, two in zip(self, other, strict=True))

    __hash__ = None

    def at(self, places: Iterable[int]) -> "OnDisk":
        """Those at some places, in that order."""
        chosen = array("q", (self.places[place] for place in places))
        return OnDisk(self._file, self._ends, chosen)

    def _block(self, number: int) -> list:
        last = self._last
        if last[0] != number:
            content = self._file.read(*self._ends[number : number + 2])
            last = self._last = number, pickle.loads(content)  # noqa: S301 (we wrote it)
        return last[1]


def stored(values: Iterable, memory_mb: float) -> Sequence:
    """The values as a list; on disk, if more than `memory_mb` megabytes are written.

    Raises:
        ArtifactError: the disk is full.
    """
    if isinstance(values, OnDisk):
        return values
    rest, kept, size = iter(values), [], 0
    while block := list(itertools.islice(rest, BLOCK)):
        kept += block
        size += len(_pickled(block))
        if size > memory_mb * 1e6:
            return _written(itertools.chain(kept, rest))
    return kept


def at(values: Sequence, places: Iterable[int]) -> Sequence:
    """Those at some places, in that order."""
    if isinstance(values, OnDisk):
        return values.at(places)
    return [values[place] for place in places]


def places_in(part: Sequence, whole: Sequence) -> list[int]:
    """The place in `whole` of each of the values that were chosen from it, as by `at`."""
    place_of = {name: place for place, name in enumerate(_names(whole))}
    return [place_of[name] for name in _names(part)]


def _names(values: Sequence) -> Iterable[int]:
    return values.places if isinstance(values, OnDisk) else map(id, values)


class _Pickler(pickle.Pickler):
    """Writes dataclasses as their arguments: faster than attribute by attribute."""

    def reducer_override(self, value: object) -> Any:
        """The class and the arguments of an example."""
        if not dataclasses.is_dataclass(type(value)):
            return NotImplemented
        return type(value), tuple(getattr(value, name) for name in _arguments(type(value)))


@functools.cache
def _arguments(of_class: type) -> tuple[str, ...]:
    return tuple(field.name for field in dataclasses.fields(of_class))


def _pickled(block: list) -> bytes:
    content = io.BytesIO()
    _Pickler(content, pickle.HIGHEST_PROTOCOL).dump(block)
    return content.getvalue()


def _written(values: Iterable) -> OnDisk:
    rest, file, ends, count = iter(values), UnnamedFile(), array("q", [0]), 0
    while block := list(itertools.islice(rest, BLOCK)):
        file.append(_pickled(block))
        ends.append(file.size)
        count += len(block)
    return OnDisk(file, ends, range(count))
