"""Small HuggingFace folders, from the recordings of tests/parity/recorded/huggingface."""

import json
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file, save_file

RECORDED = Path(__file__).resolve().parents[1] / "parity" / "recorded" / "huggingface"
FAMILIES = ("bert", "roberta", "xlm_roberta", "distilbert", "albert", "electra", "deberta_v3")


def recording(family: str) -> dict[str, np.ndarray]:
    """What HuggingFace computed, and the files it computed it from (`file NAME`)."""
    with np.load(RECORDED / f"{family}.npz", allow_pickle=False) as arrays:
        return dict(arrays)


def write_folder(family: str, folder: Path, **changed) -> Path:
    """The files of a family's folder; `changed`: other values in its `config.json`."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in recording(family).items():
        if name.startswith("file "):
            (folder / name.removeprefix("file ")).write_bytes(content.tobytes())
    path = folder / "config.json"
    settings = json.loads(path.read_text("utf-8")) | changed
    path.write_text(json.dumps(settings), "utf-8")
    return folder


def edit_json(path: Path, **changes) -> None:
    """Changes keys of a file; those that become `...` go."""
    settings = json.loads(path.read_text("utf-8")) | changes
    settings = {key: value for key, value in settings.items() if value is not ...}
    path.write_text(json.dumps(settings), encoding="utf-8")


def edit_weights(folder: Path, edit: Callable[[dict], dict]) -> None:
    """Replaces the weights of a folder by what `edit` makes of them."""
    path = folder / "model.safetensors"
    save_file(edit(load_file(path)), path)


def keras_hub_is_new() -> bool:
    """Whether a keras-hub is installed that encoders can be built of; not on the oldest stack."""
    try:
        version = metadata.version("keras-hub")
    except metadata.PackageNotFoundError:
        return False
    return tuple(map(int, version.split(".")[:2])) >= (0, 32)
