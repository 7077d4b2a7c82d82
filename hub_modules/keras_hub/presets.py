"""Presets of keras-hub: `config.json`, `tokenizer.json` with its assets, `model.weights.h5`.

Source: keras-hub, `utils/preset_utils.py`.
"""

import functools
from pathlib import Path

import numpy as np

from hub_modules.errors import ArtifactError
from hub_modules.huggingface_handles import preset_class
from hub_modules.keras_hub.backbones import BACKBONES, checked_settings
from hub_modules.keras_hub.description import Description, check_numbers, count_numbers
from hub_modules.keras_hub.encoder import KerasHubEncoder
from hub_modules.keras_hub.handles import no_backbone
from hub_modules.keras_hub.tokenizers import preset_preprocessor
from hub_modules.sentence_transformers import SentenceSettings, read_settings
from hub_modules.sources.files.folder import read_json, setting
from hub_modules.sources.files.hdf5 import open_strictly

WEIGHTS, TASK = "model.weights.h5", "task.json"
_POOLINGS = {"mean": "mean", "cls": "first"}


def describe(folder: Path, content: dict) -> Description:
    """What a preset holds; `content`: of its `config.json`.

    Raises:
        ArtifactError: a file is missing or damaged, the preset is of another kind, or its weights
            do not fit its configuration.
    """
    where = folder / "config.json"
    name = setting(content, "class_name", "a text", where)
    if name not in BACKBONES:
        kind = name.removesuffix("Backbone")
        raise ArtifactError(
            f"{where}: class_name: expected one of {', '.join(BACKBONES)}, got {name[:100]}; "
            f"{no_backbone(kind)}"
        )
    settings = checked_settings(name, setting(content, "config", "an object", where), where)
    path = folder / WEIGHTS
    if not path.is_file():
        sharded = (folder / "model.weights.json").is_file()
        advice = (
            "they are in several files: save the preset again as one (max_shard_size)"
            if sharded
            else "the preset is not whole: download or save it again"
        )
        raise ArtifactError(f"{path}: expected the weights, got no such file; {advice}")
    with open_strictly(path) as stored:
        shapes = [array.shape for name, array in stored.items() if "/seed_generator/" not in name]
    check_numbers(settings, count_numbers(shapes), path)
    return Description(
        arguments={"backbone": name, "settings": settings},
        load=functools.partial(_load, path=path, shapes=shapes),
        preprocessor=functools.partial(preset_preprocessor, folder, name, settings),
    )


def sentence_settings(folder: Path) -> SentenceSettings:
    """What a preset, or a folder of HuggingFace's format, says of texts and their vectors.

    Raises:
        ArtifactError: as `_pooling_of`, `read_settings`.
    """
    if preset_class(folder) is None:
        return read_settings(folder)
    return SentenceSettings(_pooling_of(folder))


def _pooling_of(folder: Path) -> str | None:
    """How a preset of keras-hub's text embedder makes a text's vector of the top states: "mean" or
    "first"; None: it is none, and the vector is the backbone's own.

    Raises:
        ArtifactError: it does so in another way, or the file is damaged.
    """
    path = folder / TASK
    task = read_json(path) if path.is_file() else {}
    if not str(task.get("class_name")).endswith("TextEmbedder"):
        return None
    mode = setting(task, "config.pooling_mode", "a text", path, default="mean")
    if mode not in _POOLINGS:
        raise ArtifactError(
            f"{path}: config.pooling_mode: expected {' or '.join(_POOLINGS)}, got {mode!r}; remove "
            "the file to read the encoder without it"
        )
    return _POOLINGS[mode]


def _load(encoder: KerasHubEncoder, path: Path, shapes: list[tuple[int, ...]]) -> None:
    weights = encoder.keras_hub_model.weights
    expected = [tuple(weight.shape) for weight in weights]
    # Keras itself would leave layers of the file that the model does not have.
    if sorted(expected) != sorted(shapes):
        raise ArtifactError(
            f"{path}: expected {len(expected)} weights with {count_numbers(expected):,} numbers by "
            f"config.json, got {len(shapes)} with {count_numbers(shapes):,}; the weights and the "
            "configuration do not belong together: get both again"
        )
    try:
        encoder.keras_hub_model.load_weights(path)
    except (ValueError, KeyError, TypeError, OSError) as error:
        raise ArtifactError(
            f"{path}: expected the weights of {encoder.backbone}, got others "
            f"({' '.join(str(error).split())[:300]}); get the preset again"
        ) from error
    for weight in weights:
        if not np.isfinite(np.asarray(weight, np.float32)).all():
            raise ArtifactError(
                f"{path}: {weight.path}: expected finite numbers, got NaN or infinity; the file is "
                "damaged or its training diverged: use another copy"
            )
