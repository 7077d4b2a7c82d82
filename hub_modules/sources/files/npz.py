"""Strict reader of NumPy's `.npz` files: no objects, nothing larger than stored."""

import zipfile
from pathlib import Path

import numpy as np

from hub_modules.errors import ArtifactError
from hub_modules.sources.files.folder import require_file
from hub_modules.storage.arrays import declared


def read_arrays(path: Path, shapes: dict[str, tuple[int, ...]]) -> dict[str, np.ndarray]:
    """The arrays of a `.npz` file as float32, after a check of the declared shapes and types.

    Raises:
        ArtifactError: missing or damaged; an array is missing, unknown, of another shape, not
            floating point, or not finite.
    """
    require_file(path, "arrays in NumPy's format")
    try:
        with zipfile.ZipFile(path) as archive:
            in_file = {
                name.removesuffix(".npy"): declared(archive, name) for name in archive.namelist()
            }
        _check_declared(path, in_file, shapes)
        with np.load(path, allow_pickle=False) as stored:
            arrays = {name: stored[name].astype(np.float32) for name in shapes}
    # NumPy and zipfile report damage as whichever of these the broken bytes happen to lead to.
    except (OSError, ValueError, EOFError, KeyError, SyntaxError, zipfile.BadZipFile) as error:
        raise ArtifactError(f"{path}: not arrays of numbers ({error})") from None
    for name, array in arrays.items():
        if not np.isfinite(array).all():
            raise ArtifactError(f"{path}: {name}: expected finite numbers, got NaN or infinity")
    return arrays


def _check_declared(path: Path, declared: dict, shapes: dict[str, tuple[int, ...]]) -> None:
    if declared.keys() != shapes.keys():
        raise ArtifactError(
            f"{path}: expected the arrays {sorted(shapes)}, got {sorted(declared)[:9]}; "
            "it belongs to another kind of encoder"
        )
    for name, (shape, kind) in declared.items():
        if shape != shapes[name] or kind.kind != "f":
            raise ArtifactError(
                f"{path}: {name}: expected floating-point numbers of shape {shapes[name]}, got "
                f"{kind} of shape {shape}; it belongs to another encoder or vocabulary"
            )
