"""Folders of HuggingFace's format, and keras-hub's presets, as handles: which of our encoders reads
them. Reads configurations alone."""

import os
from pathlib import Path

from hub_modules.errors import ArtifactError
from hub_modules.sentence_transformers import POOLING
from hub_modules.sources.files.folder import read_json
from hub_modules.storage.model_hubs import local_handle

CONFIG = "config.json"
# What the native encoders read of a folder of HuggingFace's format.
_FILES = (
    CONFIG,
    "model.safetensors",
    "heads.safetensors",
    "vocab.txt",
    "vocab.json",
    "merges.txt",
    "tokenizer.json",
    "tokenizer_config.json",
    "added_tokens.json",
    POOLING,
)
# The model types with a native encoder of ours, and its family.
NATIVE = {"bert": "bert", "gpt2": "causal", "modernbert": "modern_bert", "mpnet": "mpnet"}
# The same of keras-hub's presets, by their class.
NATIVE_PRESETS = {"BertBackbone": "bert", "GPT2Backbone": "causal"}
# Those whose first position embeddings no token has, and how many these are.
_UNUSED = {"mpnet": 2, "roberta": 2, "xlm-roberta": 2}


def model_type(folder: Path) -> str | None:
    """The `model_type` of a folder of HuggingFace's format; None for any other folder.

    Raises:
        ArtifactError: `config.json` is damaged.
    """
    path = folder / CONFIG
    if not path.is_file() or any(
        (folder / name).is_file() for name in ("manifest.json", "saved_model.pb")
    ):
        return None
    try:
        value = read_json(path).get("model_type")
    except ArtifactError as error:
        raise ArtifactError(f"{error}; the file is damaged: get the folder again") from None
    return value if isinstance(value, str) else None


def preset_class(folder: Path) -> str | None:
    """The backbone's class of a preset of keras-hub; None for any other folder."""
    if not (folder / CONFIG).is_file() or (folder / "manifest.json").is_file():
        return None
    try:
        settings = read_json(folder / CONFIG)
    except ArtifactError:
        return None
    is_preset = "keras_" in str(settings.get("registered_name") or settings.get("module"))
    return str(settings["class_name"]) if is_preset and "class_name" in settings else None


def native_folder(handle: str | os.PathLike) -> Path | None:
    """The folder of one of the two formats that a native encoder of ours reads, or None."""
    text = local_handle(handle)
    return Path(text) if "\0" not in text and is_native(Path(text)) else None


def is_native(folder: Path) -> bool:
    """Whether a native encoder of ours reads a folder of one of the two formats."""
    return model_type(folder) in NATIVE or preset_class(folder) in NATIVE_PRESETS


def is_preset(handle: str | os.PathLike) -> bool:
    """Whether a handle is that of keras-hub's preset in a `native_folder`."""
    folder = native_folder(handle)
    return folder is not None and preset_class(folder) is not None


def positions_of(folder: Path) -> int:
    """Most positions of a text by the configuration of a folder of HuggingFace's format; 0: it does
    not say."""
    settings = read_json(folder / CONFIG)
    longest = settings.get("n_positions", settings.get("max_position_embeddings"))
    return longest - _UNUSED.get(settings.get("model_type"), 0) if type(longest) is int else 0


def files_read(folder: Path) -> list[Path]:
    """The files that are read of a `native_folder` of HuggingFace's format; others may change
    freely."""
    return [path for name in _FILES if (path := folder / name).is_file()]


def family_of(folder: Path) -> str:
    """The family of encoders of a `native_folder`."""
    return NATIVE.get(model_type(folder)) or NATIVE_PRESETS[preset_class(folder)]
