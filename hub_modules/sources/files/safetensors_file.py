"""The weights of a HuggingFace folder: one safetensors file."""

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from safetensors import SafetensorError, safe_open

from hub_modules.errors import ArtifactError
from hub_modules.sources.layouts.names import Row, Shape, check, to_ours

# Thirds of a weight that is stored merged: `….weight[key]` in a table.
PARTS = ("query", "key", "value")


def weights_file(folder: Path) -> Path:
    """The path of `model.safetensors`.

    Raises:
        ArtifactError: there is none; the message says what there is instead.
    """
    path = folder / "model.safetensors"
    if path.is_file():
        return path
    if (folder / "model.safetensors.index.json").is_file():
        advice = (
            "the weights are in several files: save them again as one (in transformers: "
            "save_pretrained with max_shard_size)"
        )
    elif (folder / "pytorch_model.bin").is_file():
        advice = (
            "pytorch_model.bin is a pickle, which can run code, and is not read; save the model "
            "with safetensors (in transformers: save_pretrained with safe_serialization=True)"
        )
    else:
        advice = "get the folder again, or save the model with safetensors"
    raise ArtifactError(f"{path}: expected the weights, got no such file; {advice}")


@contextmanager
def open_weights(path: Path) -> Iterator:
    """The open file.

    Raises:
        ArtifactError: it cannot be read.
    """
    try:
        with safe_open(path, framework="numpy") as file:
            yield file
    # safetensors reports a type that NumPy lacks as one of the last two.
    except (SafetensorError, OSError, TypeError, KeyError) as error:
        raise ArtifactError(
            f"{path}: expected a safetensors file with float16, bfloat16 or float32 weights, got "
            f"one that cannot be read ({error}); copy it again"
        ) from error


def read_weights(
    path: Path,
    rows: list[Row],
    prefix: str,
    left_out: re.Pattern,
    merged: str | None = None,
    axis: int = 0,
) -> tuple[dict[str, np.ndarray], list[str]]:
    """Our weights by name, and the foreign names that were left out.

    Args:
        prefix: of the encoder's names in checkpoints of a model with a head.
        left_out: the names, without the prefix, of what is no part of the encoder.
        merged: inside the names of query, key and value that are stored as one.
        axis: along which they are.

    Raises:
        ArtifactError: the file cannot be read; a weight is missing, unknown or of another shape.
    """
    with open_weights(path) as file:
        stored, others = {}, []  # the table's name → the file's
        for name in file.keys():  # noqa: SIM118 (not a dict)
            plain = name.removeprefix(prefix)
            if left_out.match(plain):
                others.append(name)
            elif plain in stored:
                raise ArtifactError(
                    f"{path}: {name}: expected one weight of this name, got {stored[plain]} too"
                )
            else:
                stored[plain] = name
        shapes: dict[str, Shape] = {}
        for plain, name in stored.items():
            shape = tuple(file.get_slice(name).get_shape())
            is_merged = merged is not None and merged in plain and shape and shape[axis] % 3 == 0
            shapes |= _thirds(plain, shape, axis) if is_merged else {plain: shape}
        check_pooler(rows, shapes, path)
        check(rows, shapes, str(path))

        def tensor(plain: str) -> np.ndarray:
            name, _, part = plain.partition("[")
            array = file.get_tensor(stored[name])
            return np.split(array, 3, axis)[PARTS.index(part[:-1])] if part else array

        return to_ours(rows, tensor, str(path)), sorted(others)


def check_pooler(rows: list[Row], names: Iterable[str], path: Path) -> None:
    """Refuses a file that lacks the pooler alone, as transformers saves models of a masked word.

    Raises:
        ArtifactError: it does.
    """
    missing = {row.foreign for row in rows} - set(names)
    if missing and all(name.startswith("pooler.") for name in missing):
        raise ArtifactError(
            f"{path}: {', '.join(sorted(missing))}: expected the pooler, got none: the model was "
            "saved without it; add a new one, with random weights, in a copy of the folder (in "
            "transformers: AutoModel.from_pretrained(COPY).save_pretrained(COPY)), and give that"
        )


def _thirds(plain: str, shape: Shape, axis: int) -> dict[str, Shape]:
    third = list(shape)
    third[axis] //= 3
    return {f"{plain}[{part}]": tuple(third) for part in PARTS}


def joined_thirds(arrays: dict[str, np.ndarray], axis: int = 0) -> dict[str, np.ndarray]:
    """The reverse of reading merged weights: `….weight[query]`, `[key]`, `[value]` → `….weight`."""
    whole = {name: array for name, array in arrays.items() if "[" not in name}
    for name in {name.partition("[")[0] for name in arrays.keys() - whole.keys()}:
        thirds = [arrays[f"{name}[{part}]"] for part in PARTS]
        whole[name] = np.concatenate(thirds, axis)
    return whole
