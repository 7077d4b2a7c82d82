"""Handles of keras-hub's encoders: `keras:PRESET`, `keras:FOLDER`, or by itself the folder of a
preset or of HuggingFace's format, whose family has no native encoder of ours.

Nothing here imports keras-hub, but for downloading a preset by its name.
"""

import os
import re
from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path

from hub_modules.errors import ArtifactError
from hub_modules.huggingface_handles import NATIVE, is_native, model_type, preset_class
from hub_modules.keras_hub.backbones import BACKBONES, backbone_class
from hub_modules.shipped import shipped_names
from hub_modules.storage.hub_pages import page_hint
from hub_modules.storage.model_hubs import HUGGINGFACE, KAGGLE, kaggle_folder, local_handle

PREFIX = "keras:"
_PRESET = re.compile(r"[a-z][a-z0-9_.]{0,99}")
_HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,95}(/[A-Za-z0-9][\w.-]{0,95})?")
_BACKBONE_TYPES = [row.model_type for row in BACKBONES.values()]
_GPT2 = "GPT2Backbone"
_PEFT_CONFIG = "adapter_config.json"
_CAUSAL = "GPT-2 reads from left to right: it is an encoder of the family causal, not of keras"


def is_preset_name(handle: str) -> bool:
    """Whether a handle is `keras:` and the name of a preset, not of a folder that exists."""
    name = handle.removeprefix(PREFIX)
    return handle.startswith(PREFIX) and bool(_PRESET.fullmatch(name)) and not Path(name).is_dir()


def keras_folder(handle: str | os.PathLike) -> Path | None:
    """The folder of an encoder of keras-hub's layers, or None for any other handle.

    Raises:
        ArtifactError: the folder or the preset does not exist, or cannot be downloaded.
        ConfigError: keras-hub is not installed, and is needed to find a preset by its name.
    """
    text = local_handle(handle)
    if not text.startswith(PREFIX):
        folder = Path(text)
        is_other = "\0" in text or is_native(folder)
        return folder if not is_other and (preset_class(folder) or _is_backbone(folder)) else None
    folder = Path(text.removeprefix(PREFIX))
    if is_preset_name(text):
        return downloaded_preset(folder.name, BACKBONES)
    if not text.removeprefix(PREFIX) or "\0" in text or not folder.is_dir():
        raise ArtifactError(
            f"module {text!r}: no such folder; expected keras: with a folder of a preset or of "
            "HuggingFace's format, or with the name of a preset, as keras:roberta_base_en"
            + hint(text)
        )
    return folder


def is_known(family: str | None) -> bool:
    """Whether some encoder reads models of HuggingFace's format with this `model_type`."""
    return family in (*NATIVE, *_BACKBONE_TYPES)


def _is_backbone(folder: Path) -> bool:
    """Whether a folder of HuggingFace's format is of a family that keras-hub's layers have."""
    return model_type(folder) in _BACKBONE_TYPES


def check_not_foreign(folder: Path, handle: str) -> None:
    """Refuses a folder of HuggingFace's format, or of PEFT's, that no encoder reads.

    Raises:
        ArtifactError: it is such a folder.
    """
    if (folder / _PEFT_CONFIG).is_file():
        raise ArtifactError(
            f"module {handle}: a PEFT adapter, which is no model; merge it into its model "
            "(in PEFT merge_and_unload), save that, and give the folder"
        )
    if (found := model_type(folder)) is not None:
        raise ArtifactError(
            f"module {handle}: a folder of HuggingFace's format ({found}); {other_family()}"
        )


def refuse_gpt2(folder: Path, settings: dict) -> None:
    """Refuses a GPT-2 as an encoder of keras-hub's layers, with what to do.

    Args:
        settings: of the folder's `config.json`.

    Raises:
        ArtifactError: it is a GPT-2 in HuggingFace's format, or keras-hub's preset of one.
    """
    if str(settings.get("model_type")).lower() == "gpt2" or settings.get("class_name") == _GPT2:
        raise ArtifactError(f"module {folder}: {_CAUSAL}; give the folder without {PREFIX}")


def other_family() -> str:
    """What to do with a model that no encoder reads."""
    return _none_of([*NATIVE, *_BACKBONE_TYPES])


def no_backbone(model_type: str) -> str:
    """What to do with a model that is no backbone of the table."""
    if model_type in NATIVE:
        return f"it is read without keras-hub: give the folder without {PREFIX}"
    return _none_of(_BACKBONE_TYPES)


def _none_of(families: list[str]) -> str:
    known = ", ".join(dict.fromkeys(families))
    return f"expected one of the families {known}; take a model of one of them"


def hint(handle: str) -> str:
    """What to do about a handle that is no folder: it may be a file, almost a shipped module's
    name, or a name of HuggingFace's hub or of a preset, or the page of one; or ""."""
    name = handle.removeprefix(PREFIX)
    if os.path.isfile(name):
        return "; that is a file: give the folder that it is in"
    if (page := page_hint(name)) is not None:
        return f"; {page}"
    for prefix in (HUGGINGFACE, KAGGLE, PREFIX):
        scheme = prefix.removesuffix("//")
        if name.lower().startswith(scheme):
            return f"; did you mean {prefix}{name[len(scheme) :].lstrip('/')}?"
    # Names of presets are no nearer than this to those of shipped modules.
    if nearest := get_close_matches(handle, shipped_names(), n=1, cutoff=0.8):
        return f"; did you mean {nearest[0]}?"
    if not _HUB_NAME.fullmatch(name):
        return ""
    if name.startswith("gpt2_"):  # so keras-hub names its presets
        return f"; {_gpt2_preset(name)}"
    if "_" in name and _PRESET.fullmatch(name):  # names of hubs without ORG/ have no underscore
        return "" if name != handle else f"; a preset of keras-hub is given as {PREFIX}{name}"
    advice = f"; a model of HuggingFace's hub is {HUGGINGFACE}{name}"
    if "/" not in name and not handle.startswith(PREFIX):
        advice += f", a preset of keras-hub {PREFIX}{name.replace('-', '_').lower()}"
    return advice


def _gpt2_preset(name: str) -> str:
    return (
        f"{_CAUSAL}; convert it once: `tf-adapt module convert --from keras-nlp {PREFIX}{name} "
        f"--out {name}`, and give {name}"
    )


def downloaded_preset(name: str, backbones: Iterable[str]) -> Path:
    """The folder of a preset in kagglehub's cache, downloaded where it is not there yet.

    Args:
        backbones: names of the classes that it may be a preset of.

    Raises:
        ArtifactError: there is no such preset, or it cannot be downloaded; as `check_fetching`.
        ConfigError: keras-hub or kagglehub is not installed.
    """
    presets: dict[str, dict] = {}
    for backbone in backbones:
        presets |= backbone_class(backbone, f"module {PREFIX}{name}").presets
    if name not in presets and name in backbone_class(_GPT2).presets:
        raise ArtifactError(f"module {PREFIX}{name}: {_gpt2_preset(name)}")
    if name not in presets:
        nearest = get_close_matches(name, presets, n=3, cutoff=0)
        raise ArtifactError(
            f"module {PREFIX}{name}: no such folder, and no preset of this name; the nearest are "
            f"{', '.join(nearest)}{hint(f'{PREFIX}{name}')}"
        )
    kaggle = presets[name]["kaggle_handle"].removeprefix(KAGGLE)
    return Path(kaggle_folder(kaggle, f"{PREFIX}{name}"))
