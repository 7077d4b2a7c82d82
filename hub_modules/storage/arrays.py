"""Named arrays as NumPy's `.npz`: no pickled objects, nothing larger than stored."""

import io
import math
import zipfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np


def packed(arrays: Mapping[str, np.ndarray]) -> bytes:
    """The content of a `.npz` file.

    Built in memory: a zip file on a full disk raises a second error when it is closed.
    """
    content = io.BytesIO()
    np.savez(content, **arrays)
    return content.getvalue()


def read_arrays(path: str | Path) -> dict[str, np.ndarray]:
    """All arrays of a `.npz` file that `packed` wrote, after a check of their headers.

    Raises:
        OSError: it cannot be read, or it is damaged.
        ValueError: it is damaged or compressed, or holds something else.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            _check_stored(archive, Path(path).stat().st_size)
            for name in archive.namelist():
                declared(archive, name)
        with np.load(path, allow_pickle=False) as stored:
            return {name: stored[name] for name in stored.files}
    except OSError:
        raise
    except Exception as error:
        # Damage surfaces as BadZipFile, EOFError, KeyError, MemoryError, zlib.error and others.
        raise ValueError(str(error)) from error


def declared(archive: zipfile.ZipFile, name: str) -> tuple[tuple[int, ...], np.dtype]:
    """Shape and dtype in the header of an array; nothing else of it is read.

    Raises:
        ValueError: it is no array of numbers or texts, or its header declares more than is stored.
    """
    with archive.open(name) as file:
        version = np.lib.format.read_magic(file)
        readers = {
            (1, 0): np.lib.format.read_array_header_1_0,
            (2, 0): np.lib.format.read_array_header_2_0,
        }
        if version not in readers:
            raise ValueError(f"{name}: format {version}")
        shape, _, kind = readers[version](file)
    if kind.hasobject:
        raise ValueError(f"{name}: objects, not numbers")
    if math.prod(shape) * kind.itemsize > archive.getinfo(name).file_size:
        raise ValueError(f"{name}: declares more than it holds")
    return shape, kind


def _check_stored(archive: zipfile.ZipFile, size: int) -> None:
    entries = archive.infolist()
    for entry in entries:
        if entry.compress_type != zipfile.ZIP_STORED:
            raise ValueError(f"{entry.filename}: compressed, which no file of ours is")
    # Entries may overlap: a thousand of them, each as large as the file.
    if sum(entry.file_size for entry in entries) > size:
        raise ValueError("its entries are larger than the file")
    if len({entry.filename for entry in entries}) != len(entries):
        raise ValueError("a name that is there twice")
