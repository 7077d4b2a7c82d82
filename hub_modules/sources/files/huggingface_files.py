"""A folder of HuggingFace's format as files: configuration, weights, and what is beside them."""

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

from hub_modules.storage.files import publish_folder

Beside = Mapping[str, str] | None
# HuggingFace's name of an activation → ours.
ACTIVATIONS = {"gelu": "gelu_exact", "gelu_new": "gelu_tanh", "gelu_pytorch_tanh": "gelu_tanh"}


def write_folder(
    folder: str | Path,
    settings: dict,
    arrays: dict[str, np.ndarray],
    texts: Mapping[str, str],
    beside: Beside = None,
) -> None:
    """Writes `config.json`, `model.safetensors` and further files by name.

    Raises:
        ArtifactError: the folder exists already or cannot be written.
    """
    texts = {"config.json": as_json(settings), **texts, **(beside or {})}
    write_files(folder, texts, "model.safetensors", arrays)


def write_files(
    folder: str | Path,
    texts: Mapping[str, str],
    weights: str,
    arrays: dict[str, np.ndarray],
    copied: Sequence[Path] = (),
) -> None:
    """Writes a new folder of texts by name, one file of weights, and copies of files.

    Raises:
        ArtifactError: the folder exists already or cannot be written.
    """
    with publish_folder(folder) as aside:
        for name, text in texts.items():
            (aside / name).parent.mkdir(exist_ok=True)
            (aside / name).write_text(text, encoding="utf-8", newline="\n")
        for path in copied:
            shutil.copyfile(path, aside / path.name)
        save_file(arrays, aside / weights, metadata={"format": "pt"})


def as_json(content: dict) -> str:
    """A file's text."""
    return json.dumps(content, indent=1, ensure_ascii=False)
