"""What a frozen encoder says of each text, computed once for all epochs, cells and seeds.

The states are kept in memory, or in a cache: a folder for each set of texts under a name made from
the module's hash, the precision and the units of every text, so that whatever changes gives another
name. Beside the arrays stands a record with their lengths and SHA-256, checked before each use.
"""

import contextlib
import fcntl
import hashlib
import io
import json
import logging
import os
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import tensorflow as tf

import tf_adapt
from hub_modules.half_kernels import half_kernels
from tf_adapt.arrays import read_arrays
from tf_adapt.checkpoints import remove_leftovers
from tf_adapt.config_sections import FeaturesConfig
from tf_adapt.data.prepared import PreparedData
from tf_adapt.encoder import HubEncoder
from tf_adapt.errors import ArtifactError
from tf_adapt.feature_arrays import (
    Features,
    columns,
    compute_features,
    layer_megabytes,
    numpy_dtype,
    states_dtype,
)
from tf_adapt.files import describe, difference, publish_folder
from tf_adapt.monitoring import tracked

FORMAT = 1
RECORD, STATES, PLACES = "record.json", "states.bin", "places.npz"
_log = logging.getLogger(__name__)


def with_features(
    prepared: PreparedData, encoder: HubEncoder, settings: FeaturesConfig, progress: bool = False
) -> PreparedData:
    """The same data with the states of a frozen encoder, from the cache where they are there.

    Data whose states would need more than `settings.limit_mb` comes back as it is: the encoder then
    reads the texts in each epoch.

    Raises:
        ArtifactError: the cache cannot be written, or `settings.require` and it has no entry, or a
            damaged one.
    """
    needed = encoder.num_layers * layer_megabytes(prepared, encoder)
    if needed > settings.limit_mb:
        _log.warning(
            "features of %d texts need %.0f MB, over features.limit_mb: %d; the encoder reads the "
            "texts in every epoch instead",
            len(prepared.lengths),
            needed,
            settings.limit_mb,
        )
        return prepared
    features = [
        _features(prepared, number, encoder, settings, progress)
        for number in range(columns(prepared))
    ]
    return replace(prepared, features=features)


def _features(prepared, number: int, encoder, settings: FeaturesConfig, progress: bool) -> Features:
    if settings.cache is None:
        content = io.BytesIO()
        places = _compute(prepared, number, encoder, content, progress)
        states = np.frombuffer(content.getbuffer(), dtype=states_dtype(encoder))
        return Features(states=states.reshape(-1, *_state_shape(encoder)), **places)
    key = _key(prepared, number, encoder)
    name = hashlib.sha256(json.dumps(key, sort_keys=True).encode("utf-8")).hexdigest()[:32]
    folder = Path(settings.cache) / name
    with _locked(folder):
        entry = folder / "features"
        if entry.exists():
            try:
                return _read(entry, key, _state_shape(encoder))
            except ArtifactError as error:
                if settings.require:
                    raise
                _log.warning("%s; computed again", error)
                shutil.rmtree(entry, ignore_errors=True)
        elif settings.require:
            raise ArtifactError(
                f"{entry}: the cache has no features of this data and module, and features.require "
                "is true; set it to false to have them computed"
            )
        with publish_folder(entry) as aside:
            _write(aside, key, prepared, number, encoder, progress)
        return _read(entry, key, _state_shape(encoder))


def _compute(
    prepared: PreparedData, number: int, encoder: HubEncoder, file: BinaryIO, progress: bool
) -> dict[str, np.ndarray | None]:
    return compute_features(
        prepared,
        number,
        encoder.forward,
        half_kernels(encoder),
        lambda layers: [tf.stack(layers, axis=2)],
        [file],
        lambda batches: tracked(batches, "features", progress),
    )


def _write(folder: Path, key: dict, prepared, number: int, encoder, progress: bool) -> None:
    with open(folder / STATES, "wb") as file:
        places = _compute(prepared, number, encoder, file, progress)
    pooled = places.pop("pooled")
    if pooled is not None:  # as bytes: NumPy's files do not know half precisions of other kinds
        places["pooled"] = np.frombuffer(pooled.tobytes(), np.uint8)
    np.savez(folder / PLACES, **places)
    record = {
        "format": FORMAT,
        "key": key,
        "examples": len(places["starts"]),
        "units": int(places["lengths"].sum()),
        "shape": _state_shape(encoder),
        "files": {name: describe(folder / name) for name in (STATES, PLACES)},
    }
    (folder / RECORD).write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def _read(folder: Path, key: dict, state_shape: tuple[int, int]) -> Features:
    """An entry of the cache, checked.

    Raises:
        ArtifactError: it is not whole.
    """
    try:
        record = json.loads((folder / RECORD).read_text("utf-8"))
        wanted = (FORMAT, key, list(state_shape))
        if (record["format"], record["key"], record["shape"]) != wanted:
            raise ValueError("its record is of other data")
        for name, expected in record["files"].items():
            found = difference(folder / name, expected)
            if found == "bytes":
                raise ValueError(f"{name}: expected {expected['bytes']} bytes")
            if found == "sha256":
                raise ValueError(f"{name} does not have the SHA-256 of its record")
        places = read_arrays(folder / PLACES)
        dtype = numpy_dtype(key["dtype"])
        shape = (record["units"], *record["shape"])
        size = record["files"][STATES]["bytes"]
        if np.prod(shape) * dtype.itemsize != size or places["lengths"].sum() != shape[0]:
            raise ValueError(f"expected states of shape {list(shape)}, got {size} bytes")
        states = np.memmap(folder / STATES, dtype, mode="r", shape=shape)
        pooled = places.pop("pooled", None)
        if pooled is not None:
            pooled = pooled.view(dtype).reshape(record["examples"], -1)
        return Features(states=states, pooled=pooled, **places)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ArtifactError(
            f"{folder}: damaged features ({' '.join(str(error).split())}); remove the folder"
        ) from error


def _key(prepared: PreparedData, number: int, encoder: HubEncoder) -> dict[str, Any]:
    """All that the states depend on, as plain values."""
    segments = prepared.segments if prepared.joint else [prepared.segments[number]]
    tensors = [part for segment in segments for part in tf.nest.flatten(segment, True)]
    if prepared.windows is not None:
        tensors.append(prepared.windows)
    digest = hashlib.sha256()
    for tensor in tensors:
        values = tensor.numpy()
        digest.update(f"{values.shape} ".encode("ascii"))
        # Words, which hold no NUL (`prepare` refuses it), or numbers.
        digest.update(b"\0".join(values) if values.dtype == object else values.tobytes())
    return {
        "module": encoder.module_hash,
        "weights": None if encoder.pretrained else _digest_of_weights(encoder),
        "execution": encoder.execution,
        "dtype": tf.as_dtype(states_dtype(encoder)).name,
        "layers": "all",
        "versions": [tf_adapt.__version__, tf.__version__],
        "device": "GPU" if tf.config.list_logical_devices("GPU") else "CPU",
        "texts": digest.hexdigest(),
    }


def _digest_of_weights(encoder: HubEncoder) -> str:
    digest = hashlib.sha256()
    for weight in encoder.weights:
        digest.update(weight.numpy().tobytes())
    return digest.hexdigest()


def _state_shape(encoder: HubEncoder) -> tuple[int, int]:
    return encoder.num_layers, encoder.output_width


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Holds an entry of the cache, waiting for whoever has it; a lock dies with its process."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise ArtifactError(
            f"{folder}: not writable as a cache ({error.strerror}); choose another features.cache"
        ) from None
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        except OSError as error:
            raise ArtifactError(
                f"{folder}: files cannot be locked there ({error.strerror}); choose another "
                "features.cache, on a local disk"
            ) from None
        remove_leftovers(folder)
        yield
    finally:
        os.close(descriptor)
