"""Folders of HuggingFace's format as handles: which of our encoders reads them. Reads `config.json`
alone."""

import os
from pathlib import Path

from hub_modules.errors import ArtifactError
from hub_modules.sources.folder import read_json
from hub_modules.storage.model_hubs import local_handle

CONFIG = "config.json"
# The model types with a native encoder of ours, and its family.
NATIVE = {"bert": "bert", "gpt2": "causal", "modernbert": "modern_bert", "mpnet": "mpnet"}


def model_type(folder: Path) -> str | None:
    """The `model_type` of a folder of HuggingFace's format; None for any other folder."""
    path = folder / CONFIG
    if not path.is_file() or any(
        (folder / name).is_file() for name in ("manifest.json", "saved_model.pb")
    ):
        return None
    try:
        value = read_json(path).get("model_type")
    except ArtifactError:
        return None
    return value if isinstance(value, str) else None


def native_folder(handle: str | os.PathLike) -> Path | None:
    """The folder of HuggingFace's format that a native encoder of ours reads, or None."""
    text = local_handle(handle)
    return Path(text) if "\0" not in text and model_type(Path(text)) in NATIVE else None


def family_of(folder: Path) -> str:
    """The family of encoders of a `native_folder`."""
    return NATIVE[model_type(folder)]
