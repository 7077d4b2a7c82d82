"""Handles of keras-hub's encoders: `keras:PRESET`, `keras:FOLDER`, or a preset's folder by itself.

Nothing here imports keras-hub, but for downloading a preset by its name.
"""

import os
import re
import shlex
from collections.abc import Iterable
from pathlib import Path

from hub_modules.errors import ArtifactError, ConfigError
from hub_modules.keras_hub.backbones import BACKBONES, INSTALL, backbone_class
from hub_modules.sources.folder import read_json
from hub_modules.storage.fetching import check_fetching

PREFIX = "keras:"
CONFIG = "config.json"
_PRESET = re.compile(r"[a-z][a-z0-9_.]{0,99}")
_HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,95}(/[A-Za-z0-9][\w.-]{0,95})?")
_GPT2 = "GPT2Backbone"
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
    text = os.fspath(handle)
    if not text.startswith(PREFIX):
        folder = Path(text)
        return folder if "\0" not in text and is_preset_folder(folder) else None
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


def is_preset_folder(folder: Path) -> bool:
    """Whether a folder says that it is a preset of keras-hub."""
    if not (folder / CONFIG).is_file() or (folder / "manifest.json").is_file():
        return False
    settings = _settings(folder)
    return "class_name" in settings and "keras_" in str(
        settings.get("registered_name") or settings.get("module")
    )


def check_not_foreign(folder: Path, handle: str) -> None:
    """Refuses a HuggingFace folder that is given as a module, with the line that makes it work.

    Raises:
        ArtifactError: it is such a folder.
    """
    settings = _settings(folder) if (folder / CONFIG).is_file() else {}
    model_type = settings.get("model_type")
    if not isinstance(model_type, str) or (folder / "saved_model.pb").is_file():
        return
    refuse_gpt2(folder, settings)
    what = (
        f"module {handle}: expected a module, got a folder of HuggingFace's format ({model_type})"
    )
    if model_type == "bert":
        raise ArtifactError(
            f"{what}; convert it once: tf-adapt module convert --from huggingface {handle} --out "
            f"NEW_FOLDER; or give it as {PREFIX}{handle}, which needs {INSTALL}"
        )
    if model_type in {row.model_type for row in BACKBONES.values()}:
        raise ArtifactError(f"{what}; give it as {PREFIX}{handle}, which needs {INSTALL}")
    raise ArtifactError(f"{what}; {other_family(model_type)}")


def refuse_gpt2(folder: Path, settings: dict) -> None:
    """Refuses a GPT-2 that is not converted, with the line that converts it.

    Args:
        settings: of the folder's `config.json`.

    Raises:
        ArtifactError: it is a GPT-2 in HuggingFace's format, or keras-hub's preset of one.
    """
    if str(settings.get("model_type")).lower() == "gpt2":
        source_format = "huggingface"
    elif settings.get("class_name") == _GPT2:
        source_format = "keras-nlp"
    else:
        return
    raise ArtifactError(
        f"module {folder}: {_CAUSAL}; {_conversion(source_format, str(folder), 'NEW_FOLDER')}"
    )


def _conversion(source_format: str, source: str, out: str) -> str:
    return (
        f"convert it once: `tf-adapt module convert --from {source_format} {shlex.quote(source)} "
        f"--out {out}`, and give {out}"
    )


def other_family(model_type: str) -> str:
    """What to do with a model that is no backbone of the table."""
    known = ", ".join(row.model_type for row in BACKBONES.values())
    return (
        f"expected one of the families {known}, or a GPT-2; other models are no encoders of text "
        "here"
    )


def hint(handle: str) -> str:
    """What to do about a handle that may be a name of HuggingFace's hub or of a preset, or ""."""
    name = handle.removeprefix(PREFIX)
    if not _HUB_NAME.fullmatch(name):
        return ""
    folder = name.split("/")[-1]
    download = (
        "; a name of HuggingFace's hub is not downloaded from here: run `hf download "
        f"{name} --local-dir {folder}`"
    )
    if name.startswith("gpt2_"):  # so keras-hub names its presets
        return f"; {_gpt2_preset(name)}"
    if re.search("gpt-?2", folder.lower()):
        return f"{download} and {_conversion('huggingface', folder, f'{folder}_module')}"
    advice = f"{download} and give {PREFIX}./{folder}"
    if "/" not in name and not handle.startswith(PREFIX):
        advice += f"; a preset of keras-hub is {PREFIX}{name.replace('-', '_').lower()}"
    return advice


def _gpt2_preset(name: str) -> str:
    return f"{_CAUSAL}; {_conversion('keras-nlp', f'{PREFIX}{name}', name)}"


def _settings(folder: Path) -> dict:
    try:
        return read_json(folder / CONFIG)
    except ArtifactError:
        return {}


def _is_cached(handle: str) -> bool:
    from kagglehub.cache import get_cached_path
    from kagglehub.handle import parse_model_handle

    return Path(get_cached_path(parse_model_handle(handle))).is_dir()


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
        presets |= backbone_class(backbone).presets
    if name not in presets and name in backbone_class(_GPT2).presets:
        raise ArtifactError(f"module {PREFIX}{name}: {_gpt2_preset(name)}")
    if name not in presets:
        raise ArtifactError(
            f"module {PREFIX}{name}: no such folder, and no preset of this name; expected one of "
            f"{', '.join(sorted(presets))}{hint(f'{PREFIX}{name}')}"
        )
    try:
        import kagglehub

        handle = presets[name]["kaggle_handle"].removeprefix("kaggle://")
        check_fetching(f"{PREFIX}{name}", is_cached=lambda: _is_cached(handle))
        return Path(kagglehub.model_download(handle))
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"module {PREFIX}{name}: downloading a preset needs the package {error.name}; install "
            "it: pip install kagglehub"
        ) from None
    except ArtifactError:
        raise
    # kagglehub reports a lost connection, an unknown version and a refused login in many classes.
    except Exception as error:
        raise ArtifactError(
            f"module {PREFIX}{name}: the preset cannot be downloaded "
            f"({type(error).__name__}: {str(error)[:200]}); try again when the network is there, "
            f"or get its folder and give {PREFIX}FOLDER"
        ) from error
