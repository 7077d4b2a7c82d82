"""Named arrays as NumPy's `.npz`: no pickled objects."""

import io
from collections.abc import Mapping
from pathlib import Path

import numpy as np


def packed(arrays: Mapping[str, np.ndarray]) -> bytes:
    """The content of a `.npz` file.

    In memory: a zip file on a full disk complains once more when it is closed.
    """
    content = io.BytesIO()
    np.savez(content, **arrays)
    return content.getvalue()


def read_arrays(path: str | Path) -> dict[str, np.ndarray]:
    """All arrays of a `.npz` file.

    Raises:
        OSError: it cannot be read; damage can lead here, too.
        ValueError: it is damaged or holds something else.
    """
    try:
        with np.load(path, allow_pickle=False) as stored:
            return {name: stored[name] for name in stored.files}
    except OSError:
        raise
    except Exception as error:
        # Damage surfaces as BadZipFile, EOFError, KeyError, MemoryError, zlib.error and others.
        raise ValueError(str(error)) from error
