"""The adapters of an encoder as one file: many tasks, one encoder.

A NumPy `.npz` without pickled objects: every weight of the layer group `adapters` under its name in
the encoder, and `record`, JSON that says what the file belongs to and the SHA-256 of its weights.
"""

import hashlib
import json
import os
from pathlib import Path

import numpy as np

from hub_modules.adapters import GROUP
from tf_adapt.arrays import packed, read_arrays
from tf_adapt.encoder import HubEncoder
from tf_adapt.errors import ArtifactError, ConfigError, TrainingError
from tf_adapt.files import write_bytes

FORMAT = 1
RECORD = "record"


def save_adapters(encoder: HubEncoder, path: str | os.PathLike) -> Path:
    """Writes the weights of the encoder's adapters and of the LayerNorms that train with them.

    The file is whole or absent; an older one of that name stays until the new one is complete.

    Args:
        encoder: one made with `adapters=`.
        path: of the file, by custom ending in `.npz`; missing folders are made.

    Raises:
        ConfigError: the encoder has no adapters.
        TrainingError: a weight is not finite.
        ArtifactError: the file cannot be written.
    """
    path = Path(path)
    arrays = {name: weight.numpy() for name, weight in _weights(encoder).items()}
    broken = [name for name, array in arrays.items() if not np.isfinite(array).all()]
    if broken:
        raise TrainingError(
            f"{path}: expected finite weights, got infinity or NaN in {broken[:5]}; nothing was "
            "saved. Lower the learning rate and train again"
        )
    record = _owner(encoder) | {"sha256": _digest(arrays)}
    write_bytes(path, packed(arrays | {RECORD: np.array(json.dumps(record))}))
    return path


def load_adapters(encoder: HubEncoder, path: str | os.PathLike) -> None:
    """Fills the encoder's adapters, and the LayerNorms that train with them, from a file.

    The encoder then computes bit by bit what the saved one computed, as long as its other weights
    are those of the module. All weights are set, or none.

    Raises:
        ConfigError: the encoder has no adapters.
        ArtifactError: the file is missing or damaged, or belongs to another module, or to adapters
            of another kind or size.
    """
    path = Path(path)
    weights = _weights(encoder)
    record, arrays = _read(path)
    for name, expected in _owner(encoder).items():
        if record.get(name) != expected:
            raise ArtifactError(
                f"{path}: {name}: expected {expected!r}, as of this encoder, got "
                f"{record.get(name)!r}; make the encoder as that of the file was made, or give "
                "another file"
            )
    if record.get("sha256") != _digest(arrays):
        raise _damaged(path, "its weights do not have the SHA-256 of its record")
    shapes = {name: array.shape for name, array in arrays.items()}
    if shapes != {name: tuple(weight.shape) for name, weight in weights.items()}:
        raise _damaged(path, "names or shapes of its weights are not those of this encoder")
    for name, weight in weights.items():
        weight.assign(arrays[name])


def _weights(encoder: HubEncoder) -> dict:
    if encoder.adapters is None:
        raise ConfigError(
            "encoder: expected one with adapters, got adapters=None; make it with "
            "HubEncoder(…, adapters='bottleneck')"
        )
    own = set(map(id, dict(encoder.layer_groups)[GROUP]))
    named = encoder.encoder.weights_by_name()
    return {name: weight for name, weight in named.items() if id(weight) in own}


def _owner(encoder: HubEncoder) -> dict:
    return {
        "format": FORMAT,
        "module_hash": encoder.module_hash,
        "adapters": encoder.adapters,
        "adapter_size": encoder.adapter_size,
    }


def _digest(arrays: dict) -> str:
    digest = hashlib.sha256()
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def _read(path: Path) -> tuple[dict, dict]:
    try:
        arrays = read_arrays(path)
        record = json.loads(str(arrays.pop(RECORD)))
        if not isinstance(record, dict):
            raise ValueError(f"record {record!r}")
    except FileNotFoundError:
        raise ArtifactError(
            f"{path}: expected a file written by save_adapters, got no file; check the path"
        ) from None
    except (OSError, ValueError, KeyError, RecursionError) as error:
        raise _damaged(path, f"it cannot be read ({error})") from None
    return record, arrays


def _damaged(path: Path, what: str) -> ArtifactError:
    return ArtifactError(
        f"{path}: expected a file written by save_adapters, intact; {what}. It is damaged or was "
        "changed: restore it from a backup, or train and save the adapters again"
    )
