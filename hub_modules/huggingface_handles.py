"""Folders of HuggingFace's format as handles: which of our encoders reads them, and how
sentence-transformers pools them. Reads configurations alone."""

import json
import os
from collections.abc import Sequence
from pathlib import Path

from hub_modules.errors import ArtifactError
from hub_modules.sources.folder import read_json, read_json_value
from hub_modules.storage.model_hubs import local_handle

CONFIG = "config.json"
_POOLING = "1_Pooling/config.json"
# What the native encoders read of a folder.
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
    _POOLING,
)
# In its two forms.
_POOLINGS = {
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_cls_token": "first",
    "mean": "mean",
    "cls": "first",
}
_PACKAGE = "sentence_transformers.models"
_MODULES = ("Transformer", "Pooling", "Normalize")
_MODES = (
    "pooling_mode_mean_tokens",
    "pooling_mode_cls_token",
    "pooling_mode_max_tokens",
    "pooling_mode_mean_sqrt_len_tokens",
    "pooling_mode_weightedmean_tokens",
    "pooling_mode_lasttoken",
)
# The model types with a native encoder of ours, and its family.
NATIVE = {"bert": "bert", "gpt2": "causal", "modernbert": "modern_bert", "mpnet": "mpnet"}


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


def native_folder(handle: str | os.PathLike) -> Path | None:
    """The folder of HuggingFace's format that a native encoder of ours reads, or None."""
    text = local_handle(handle)
    return Path(text) if "\0" not in text and is_native(Path(text)) else None


def is_native(folder: Path) -> bool:
    """Whether a native encoder of ours reads a folder of HuggingFace's format."""
    return model_type(folder) in NATIVE


def files_read(folder: Path) -> list[Path]:
    """The files that are read of a `native_folder`; others may change freely."""
    return [path for name in _FILES if (path := folder / name).is_file()]


def family_of(folder: Path) -> str:
    """The family of encoders of a `native_folder`."""
    return NATIVE[model_type(folder)]


def pooling_of(folder: Path) -> str | None:
    """How sentence-transformers makes a text's vector of the top states: "mean" or "first"; None:
    the folder does not say, and the vector is the encoder's own.

    Raises:
        ArtifactError: it does so in another way, or the file is damaged.
    """
    _check_modules(folder / "modules.json")
    path = folder / _POOLING
    if not path.is_file():
        return None
    settings = read_json(path)
    modes = {name for name, value in settings.items() if name in _MODES and value is True}
    asked = settings.get("pooling_mode")
    modes |= {asked} if isinstance(asked, str) else set()
    poolings = {_POOLINGS.get(mode) for mode in modes}
    if len(poolings) != 1 or None in poolings:
        raise ArtifactError(
            f"{path}: expected one of the poolings {', '.join(_POOLINGS)}, got "
            f"{', '.join(sorted(modes)) or 'none'}; remove the file to read the encoder without it"
        )
    return poolings.pop()


def pooling_texts(pooling: str, width: int, longest: int) -> dict[str, str]:
    """The reverse of `pooling_of`: files by name, as text, as sentence-transformers reads them.

    Args:
        longest: most positions of a text.
    """
    modes = {mode: _POOLINGS.get(mode) == pooling for mode in _MODES}
    kinds = {"": "Transformer", "1_Pooling": "Pooling"}
    modules = [
        {"idx": index, "name": str(index), "path": path, "type": f"{_PACKAGE}.{kind}"}
        for index, (path, kind) in enumerate(kinds.items())
    ]
    limits = {"max_seq_length": longest, "do_lower_case": False}
    return {
        _POOLING: json.dumps({"word_embedding_dimension": width, **modes}, indent=1),
        "modules.json": json.dumps(modules, indent=1),
        "sentence_bert_config.json": json.dumps(limits, indent=1),
    }


def prompt_texts(prompts: Sequence[str]) -> dict[str, str]:
    """What is put before texts, as `pooling_texts`: a single one by default; of two the first one
    is sentence-transformers' "query", the other one its "document"."""
    if not prompts:
        return {}
    settings = {
        "prompts": {"query": prompts[0], "document": prompts[-1]},
        "default_prompt_name": "query" if len(prompts) == 1 else None,
    }
    return {"config_sentence_transformers.json": json.dumps(settings, indent=1)}


def _check_modules(path: Path) -> None:
    """Refuses what sentence-transformers makes of the pooled vector, but for its length."""
    modules = read_json_value(path) if path.is_file() else []
    modules = modules if isinstance(modules, list) else [modules]
    kinds = [str(one.get("type") if isinstance(one, dict) else one) for one in modules]
    others = [kind for kind in kinds if kind.split(".")[-1] not in _MODULES]
    if others:
        raise ArtifactError(
            f"{path}: expected the modules {', '.join(_MODULES)}, got {others[0][:100]}: the "
            "vector of such a sentence-transformers model is not computed here; remove the file to "
            "read the encoder without it"
        )
