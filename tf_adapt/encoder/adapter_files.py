"""Saves and loads the adapters, LoRA or biases of an encoder as one file, so that many tasks share
one encoder.

The file is a NumPy `.npz` without pickled objects: every weight of the layer group `adapters` or
`lora`, or every bias, under its name in the encoder, and `record`, JSON with the module's hash, the
settings of adapters or LoRA, and the SHA-256 of the weights.
"""

import hashlib
import json
import os
from dataclasses import asdict
from pathlib import Path

import keras
import numpy as np

from hub_modules.native.added.settings import (
    Added,
    Biases,
    BottleneckAdapters,
    Lora,
    ProjectedAdapters,
    TaskAttention,
)
from hub_modules.native.transformer_encoder import NEW_EMBEDDINGS
from hub_modules.storage.arrays import packed, read_arrays
from hub_modules.storage.files import write_bytes
from hub_modules.storage.json_files import Schema, parse_json
from tf_adapt.encoder.hub_encoder import HubEncoder
from tf_adapt.encoder.layer_groups import is_bias
from tf_adapt.encoder.starting_point import pretrained_weights
from tf_adapt.errors import ArtifactError, ConfigError, TrainingError

FORMAT = 1
RECORD = "record"


class _LoraRecord(Schema):
    """The fields of a `Lora`."""

    rank: int
    alpha: float
    target: list[str]
    in_layers: list[int] | None


class _Record(Schema):
    """Module and adapters that a file belongs to, and the hash of its weights."""

    format: int
    module_hash: str
    adapters: str | None
    adapter_size: int
    in_layers: list[int] | None = None
    activation: str = "gelu"
    operation: str = "dense"
    parallel: bool = False
    lora: _LoraRecord | None = None
    bitfit: bool = False
    sha256: str


def save_adapters(model: HubEncoder | keras.Model, path: str | os.PathLike) -> Path:
    """Writes the encoder's adapters and the LayerNorms trained with them, its LoRA, or its biases,
    and new embeddings.

    The write is atomic: an existing file stays until the new one is complete.

    Args:
        model: a model of `build_model` with `ta.adapters()`, `ta.lora()` or `ta.bitfit()`, or its
            encoder.
        path: the file, by convention `.npz`; missing folders are created.

    Raises:
        ConfigError: the encoder has none of them; as `check_rest_is_the_modules`, of an encoder
            whose other weights learn too.
        TrainingError: a weight is not finite.
        ArtifactError: the file cannot be written.
    """
    path, encoder = Path(path), _encoder_of(model)
    weights = _weights(encoder)
    if set(map(id, encoder.trainable_weights)) - set(map(id, weights.values())):
        check_rest_is_the_modules(encoder)
    arrays = {name: weight.numpy() for name, weight in weights.items()}
    broken = [name for name, array in arrays.items() if not np.isfinite(array).all()]
    if broken:
        raise TrainingError(
            f"{path}: expected finite weights, got infinity or NaN in {broken[:5]}; nothing was "
            "saved. Lower the learning rate and train again"
        )
    record = _owner(encoder) | {"sha256": _digest(arrays)}
    write_bytes(path, packed(arrays | {RECORD: np.array(json.dumps(record))}))
    return path


def load_adapters(model: HubEncoder | keras.Model, path: str | os.PathLike) -> None:
    """Loads what `save_adapters` wrote into an encoder, or a model of one.

    An encoder without adapters, LoRA or BitFit is given those of the file, as by `build_model`; one
    that has some must have the same. The outputs are then bitwise those of the saved encoder, if
    the other weights are the module's. Either all weights are set or none.

    Args:
        model: the encoder, or a model of `build_model`.

    Raises:
        ConfigError: the encoder is untrained, or has no place for what is in the file.
        ArtifactError: the file is missing or damaged, or was saved for another module or with other
            settings.
    """
    path, encoder = Path(path), _encoder_of(model)
    record, arrays = _read(path)
    if record.get("sha256") != _digest(arrays):
        raise _damaged(path, "its weights do not have the SHA-256 of its record")
    if record["module_hash"] != encoder.module_hash:
        raise _of_another(path, "module_hash", encoder.module_hash, record["module_hash"])
    if encoder.added is None:
        encoder.add(_added_of(record))
        _forget_graphs(model)
    weights = _weights(encoder)
    for name, expected in _owner(encoder).items():
        if record.get(name) != expected:
            raise _of_another(path, name, expected, record.get(name))
    shapes = {name: array.shape for name, array in arrays.items()}
    if shapes != {name: tuple(weight.shape) for name, weight in weights.items()}:
        raise _damaged(path, "names or shapes of its weights are not those of this encoder")
    for name, weight in weights.items():
        weight.assign(arrays[name])


def check_rest_is_the_modules(encoder: HubEncoder) -> None:
    """Checks that the weights that `save_adapters` leaves out are those of the module, so that the
    file is all that an encoder of the module needs. The module is loaded a second time.

    Raises:
        ConfigError: the encoder has nothing to save, or other weights differ.
    """
    saved = _weights(encoder)
    before = pretrained_weights(HubEncoder.from_config(encoder.get_config()))
    changed = [
        name
        for name, weight in pretrained_weights(encoder).items()
        if name not in saved and not np.array_equal(weight.numpy(), before[name].numpy())
    ]
    if changed:
        raise ConfigError(
            f"encoder: expected the weights of module {encoder.handle} beside what is saved, got "
            f"others in {len(changed)} of them ({changed[0]}, …): they were trained too, as with "
            "train_embeddings, or the run started from another one or without pretraining; write "
            "the whole model (`tf-adapt export`)"
        )


def _encoder_of(model: HubEncoder | keras.Model) -> HubEncoder:
    return model if isinstance(model, HubEncoder) else model.encoder


def _forget_graphs(model: HubEncoder | keras.Model) -> None:
    """Drops a model's graphs, which were traced of an encoder without the weights that it has now.

    A model that is compiled has to be compiled again to train them.
    """
    if not isinstance(model, HubEncoder):
        model.__dict__.pop("inference", None)
        model.train_function = model.test_function = model.predict_function = None


def _weights(encoder: HubEncoder) -> dict:
    if not encoder.pretrained:
        raise ConfigError(
            "encoder: expected the module's pretrained weights beside those of the file, got "
            "pretrained=False; make it with HubEncoder(…, pretrained=True)"
        )
    if isinstance(encoder.added, Biases):
        # Those that no head reads, too: which they are is not known before there is a head.
        biases = {n: weight for n, weight in pretrained_weights(encoder).items() if is_bias(weight)}
        new = set(map(id, dict(encoder.layer_groups).get(NEW_EMBEDDINGS, ())))
        named = encoder.native.weights_by_name() if new else {}
        return biases | {name: weight for name, weight in named.items() if id(weight) in new}
    if encoder.added is None:
        raise ConfigError(
            "encoder: expected one with adapters, LoRA or BitFit, got one without; an adaptation "
            "brings them: build_model(…, adaptation=ta.lora())"
        )
    if isinstance(encoder.added, TaskAttention):
        raise ConfigError(
            "encoder: expected adapters that leave the module as it is, got task_attention, beside "
            "which the encoder itself is tuned: a file of it would not do; take the whole model "
            "(`tf-adapt export`)"
        )
    ids = set(map(id, dict(encoder.layer_groups)[encoder.added.group]))
    named = encoder.native.weights_by_name()
    return {name: weight for name, weight in named.items() if id(weight) in ids}


def _owner(encoder: HubEncoder) -> dict:
    """The record of an encoder, but for the hash of its weights."""
    added = encoder.added
    settings = {n: list(v) if isinstance(v, tuple) else v for n, v in asdict(added).items()}
    is_adapters = isinstance(added, BottleneckAdapters | ProjectedAdapters)
    return {
        "format": FORMAT,
        "module_hash": encoder.module_hash,
        "adapters": added.kind if is_adapters else None,
        "adapter_size": settings.pop("size") if is_adapters else 64,
        **(settings if is_adapters else {}),
        "lora": settings if isinstance(added, Lora) else None,
        "bitfit": isinstance(added, Biases),
    }


def _added_of(record: dict) -> Added:
    """What an adaptation had added to the encoder of a record."""
    if record["bitfit"]:
        return Biases()
    if record["lora"] is not None:
        return Lora(**record["lora"])
    if record["adapters"] == ProjectedAdapters.kind:
        return ProjectedAdapters(record["adapter_size"])
    names = ("in_layers", "activation", "operation", "parallel")
    return BottleneckAdapters(record["adapter_size"], **{name: record[name] for name in names})


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
        record = parse_json(str(arrays.pop(RECORD)), _Record, f"{path}: {RECORD}").model_dump()
    except FileNotFoundError:
        raise ArtifactError(
            f"{path}: expected a file written by save_adapters, got no file; check the path"
        ) from None
    except (OSError, ValueError, KeyError, ArtifactError) as error:
        raise _damaged(path, f"it cannot be read ({error})") from None
    return record, arrays


def _of_another(path: Path, name: str, expected: object, got: object) -> ArtifactError:
    return ArtifactError(
        f"{path}: {name}: expected {expected!r}, as of this encoder, got {got!r}; take the module "
        "and the adaptation that the file was made with, or give another file"
    )


def _damaged(path: Path, what: str) -> ArtifactError:
    return ArtifactError(
        f"{path}: expected a file written by save_adapters, intact; {what}. It is damaged or was "
        "changed: restore it from a backup, or train and save the adapters again"
    )
