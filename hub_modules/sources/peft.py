"""LoRA's matrices as a folder of PEFT's: `adapter_config.json`, `adapter_model.safetensors`.

PEFT stores A as `[rank, in]` and B as `[out, rank]`, under the name of the layer that they are
beside. Where one layer of HuggingFace's computes query, key and value, the matrices of each are put
together, block by block: the rank of that layer is the sum of theirs.

Source: PEFT (`tuners/lora/config.py`, `utils/save_and_load.py`).
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from hub_modules.native.added.settings import Lora
from hub_modules.sources.files.huggingface_files import Beside, as_json, write_files
from hub_modules.sources.files.safetensors_file import PARTS
from hub_modules.sources.layouts.names import Row

CONFIG, WEIGHTS = "adapter_config.json", "adapter_model.safetensors"


class Matrices(NamedTuple):
    """A `[in, rank]` and B `[rank, out]` of one kernel."""

    a: np.ndarray
    b: np.ndarray


class Base(NamedTuple):
    """The model that LoRA belongs to: HuggingFace's name or a folder, and the revision."""

    name: str
    revision: str | None = None


def write(
    lora: Lora,
    matrices: Mapping[str, Matrices],
    rows: Sequence[Row],
    base: Base,
    folder: str | Path,
    beside: Beside = None,
) -> None:
    """Writes the files that PEFT's `PeftModel.from_pretrained` reads.

    Args:
        matrices: by the name of the kernel in our encoder.
        rows: HuggingFace's names of all weights of the encoder.
        beside: further files by name, as text.

    Raises:
        ArtifactError: the folder exists already or cannot be written.
    """
    foreign = {row.ours: row.foreign for row in rows}
    parts: dict[str, dict[str, Matrices]] = {}  # layer → part of it, "" for the whole → matrices
    for ours, pair in matrices.items():
        layer, _, part = foreign[ours].partition(".weight")
        parts.setdefault(layer, {})[part.strip("[]")] = pair
    joined = {layer: _joined(of_layer) for layer, of_layer in parts.items()}
    arrays = {}
    for layer, (a, b) in joined.items():
        arrays[f"base_model.model.{layer}.lora_A.weight"] = np.ascontiguousarray(a.T)
        arrays[f"base_model.model.{layer}.lora_B.weight"] = np.ascontiguousarray(b.T)
    # Only of GPT-2 are kernels stored as they are here.
    conv1d = all(row.step == "same" for row in rows if row.ours in matrices)
    settings = _settings(lora, {layer: a.shape[1] for layer, (a, _) in joined.items()}, base)
    texts = {CONFIG: as_json(settings | {"fan_in_fan_out": conv1d}), **(beside or {})}
    write_files(folder, texts, WEIGHTS, arrays)


def _settings(lora: Lora, ranks: dict[str, int], base: Base) -> dict:
    others = {layer: rank for layer, rank in ranks.items() if rank != lora.rank}
    return {
        "peft_type": "LORA",
        "task_type": "FEATURE_EXTRACTION",
        "base_model_name_or_path": base.name,
        "revision": base.revision,
        "inference_mode": True,
        "r": lora.rank,
        "lora_alpha": lora.alpha,
        "lora_dropout": 0.0,
        "bias": "none",
        "target_modules": list(ranks),
        "rank_pattern": others,
        # The factor is alpha / rank of each layer: that of all others.
        "alpha_pattern": {n: lora.alpha * rank / lora.rank for n, rank in others.items()},
    }


def _joined(parts: dict[str, Matrices]) -> Matrices:
    """Of a layer that is thirds: A of each part side by side, B of each part in its third."""
    if "" in parts:
        return parts[""]
    kept = [part for part in PARTS if part in parts]
    rank, width = parts[kept[0]].b.shape
    b = np.zeros((len(kept), rank, len(PARTS), width), np.float32)
    for number, part in enumerate(kept):
        b[number, :, PARTS.index(part)] = parts[part].b
    a = np.concatenate([parts[part].a for part in kept], axis=1)
    return Matrices(a, b.reshape(len(kept) * rank, -1))
