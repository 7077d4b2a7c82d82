"""Strict reader of foreign HDF5 files: nothing outside the file, nothing larger than stored.

HDF5 can refer to other files (external links, external storage, virtual datasets) and can declare
arrays that were never stored. Every object is checked before the first array is read.
"""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import h5py
import numpy as np

from hub_modules.errors import ArtifactError
from hub_modules.sources.files.folder import require_file

# Trained weights hardly compress: a declared size far beyond the stored one is a decompression
# bomb.
LARGEST_COMPRESSION = 20
SMALL_BYTES = 2**20


@contextlib.contextmanager
def open_strictly(path: Path) -> Iterator[dict[str, h5py.Dataset]]:
    """Yields every array of the file by its full name, unread.

    Raises:
        ArtifactError: missing or damaged; a link, external or virtual storage, an array of anything
            but numbers, or of a declared size much greater than the stored one. Damage that shows
            only inside the `with` block is reported in the same way.
    """
    require_file(path, "an HDF5 file")
    try:
        with h5py.File(path, "r") as file:
            yield dict(_arrays(file, "", path, seen=set()))
    # h5py reports damage as whichever of these the broken structure happens to lead to.
    except (OSError, RuntimeError, KeyError, ValueError, TypeError) as error:
        raise ArtifactError(
            f"{path}: expected a readable HDF5 file, got a damaged one ({error}); copy it again"
        ) from error


def _arrays(
    group: h5py.Group, prefix: str, path: Path, seen: set[int]
) -> Iterator[tuple[str, h5py.Dataset]]:
    for key in group:
        name = f"{prefix}{key}"
        link = group.get(key, getlink=True)
        if not isinstance(link, h5py.HardLink):
            raise _refused(path, name, f"a {type(link).__name__} to something else")
        entry = group[key]
        address = h5py.h5o.get_info(entry.id).addr
        # Hard links can form a cycle.
        if address in seen:
            raise _refused(path, name, "a second name of something else")
        seen.add(address)
        if isinstance(entry, h5py.Group):
            yield from _arrays(entry, f"{name}/", path, seen)
        else:
            _check_array(entry, name, path)
            yield name, entry


def _check_array(array, name: str, path: Path) -> None:
    if not isinstance(array, h5py.Dataset):
        raise _refused(path, name, f"a {type(array).__name__}")
    if array.is_virtual:
        raise _refused(path, name, "a virtual dataset, whose numbers are in other files")
    if array.external:
        raise _refused(path, name, "external storage, whose numbers are in other files")
    if array.dtype.kind not in "fiu" or array.dtype.hasobject or array.shape is None:
        raise _refused(path, name, f"{array.dtype}")
    # Python's integers: a declared size may be beyond 64 bits.
    declared = array.dtype.itemsize
    for length in array.shape:
        declared *= int(length)
    stored = array.id.get_storage_size()
    if (stored == 0 and declared > 0) or declared > max(LARGEST_COMPRESSION * stored, SMALL_BYTES):
        raise _refused(path, name, f"a declared size of {declared} bytes with {stored} stored")


def _refused(path: Path, name: str, got: str) -> ArtifactError:
    return ArtifactError(
        f"{path}: {name}: expected an array of numbers stored in this file, got {got}; such a file "
        "is not read: write the arrays themselves into it"
    )


def write_arrays(path: Path, arrays: dict[str, np.ndarray]) -> None:
    """Writes arrays under their full names."""
    with h5py.File(path, "w") as file:
        for name, array in arrays.items():
            file.create_dataset(name, data=array)
