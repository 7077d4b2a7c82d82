"""Handles of model hubs: `hf://ORG/NAME`, `kaggle://…`; what they name is kept in the hubs' own
caches, with the hubs' own tokens."""

import functools
import os
import re
from collections.abc import Callable
from pathlib import Path

from hub_modules.errors import ArtifactError, ConfigError
from hub_modules.storage.fetching import check_fetching

HUGGINGFACE, KAGGLE = "hf://", "kaggle://"
_NAME = r"[A-Za-z0-9][\w.-]{0,95}"
_HF_NAME = re.compile(rf"({_NAME}(?:/{_NAME})?)(?:@([\w./-]{{1,100}}))?")
_KAGGLE_NAME = re.compile(r"[\w-]+/[\w.-]+/[\w-]+/[\w.-]+(?:/\d+)?")
# Weights as safetensors, never pickles, and what a tokenizer needs.
_FILES = ["*.json", "*.safetensors", "*.txt", "*.model", "1_Pooling/*", "README.md", "LICENSE*"]
_LEFT_OUT = ["onnx/*", "openvino/*", "*/*.safetensors"]


def is_address(handle: str) -> bool:
    """Whether a handle names what may have to be fetched: a URL, or a model of a hub."""
    return handle.startswith(("http://", "https://", *_HUBS))


def local_handle(handle: str | os.PathLike) -> str:
    """A hub's handle as the folder in its cache, downloaded where it is not there yet; any other as
    it is.

    Raises:
        ArtifactError: there is no such model, or it cannot be downloaded; as `check_fetching`.
        ConfigError: it is no name of the hub, or the hub's package is not installed.
    """
    text = os.fspath(handle)
    for prefix, fetch in _HUBS.items():
        if text.startswith(prefix):
            return fetch(text.removeprefix(prefix))
    return text


def _from_huggingface(text: str) -> str:
    if (match := _HF_NAME.fullmatch(text)) is None:
        raise ConfigError(
            f"module {HUGGINGFACE}{text}: expected hf://ORG/NAME or hf://ORG/NAME@REVISION, got "
            "something else; copy the name from the model's page"
        )
    name, revision = match.groups()
    hub = _package("huggingface_hub", f"{HUGGINGFACE}{text}")

    def snapshot(local_files_only: bool) -> str:
        return hub.snapshot_download(
            name,
            revision=revision,
            allow_patterns=_FILES,
            ignore_patterns=_LEFT_OUT,
            local_files_only=local_files_only,
        )

    def cached() -> str | None:
        try:
            folder = snapshot(local_files_only=True)
        except FileNotFoundError:
            return None
        return folder if any(Path(folder).glob("*.safetensors")) else None

    if (folder := cached()) is not None:
        return folder
    where = name.split("/")[-1]
    advice = f"`hf download {name} --local-dir {where}`, and give the folder ./{where}"
    return _fetched(f"{HUGGINGFACE}{text}", lambda: snapshot(local_files_only=False), advice)


def _from_kaggle(text: str) -> str:
    handle = f"{KAGGLE}{text}"
    if _KAGGLE_NAME.fullmatch(text) is None:
        raise ConfigError(
            f"module {handle}: expected kaggle://OWNER/MODEL/FRAMEWORK/VARIATION[/VERSION], got "
            "something else; copy the name from the model's page"
        )
    return kaggle_folder(text, handle)


def kaggle_folder(name: str, handle: str) -> str:
    """The folder of a model of Kaggle's in kagglehub's cache, downloaded where needed.

    Args:
        handle: as the user gave it, for messages.

    Raises:
        ArtifactError, ConfigError: as `local_handle`.
    """
    hub = _package("kagglehub", handle)

    def is_cached() -> bool:
        from kagglehub.cache import get_cached_path
        from kagglehub.handle import parse_model_handle

        return Path(get_cached_path(parse_model_handle(name))).is_dir()

    # It looks into its cache itself.
    download = functools.partial(hub.model_download, name)
    return _fetched(handle, download, "get its folder, and give keras:FOLDER", is_cached)


def _package(name: str, handle: str):
    try:
        return __import__(name)
    except ModuleNotFoundError:
        raise ConfigError(
            f"module {handle}: a model of a hub needs the package {name}; install the extra: pip "
            "install 'tf_adapt[hubs]'"
        ) from None


def _fetched(
    handle: str,
    download: Callable[[], str],
    advice: str,
    is_cached: Callable[[], bool] = lambda: False,
) -> str:
    check_fetching(handle, is_cached)
    try:
        return download()
    # The packages report a lost connection, an unknown name and a refused login in many classes.
    except Exception as error:
        said = " ".join(str(error).split())[:200]
        raise ArtifactError(
            f"module {handle}: it is not in the cache of this machine, and cannot be downloaded "
            f"({type(error).__name__}: {said}); try again when the network is there, or on a "
            f"machine that has it: {advice}"
        ) from error


_HUBS: dict[str, Callable[[str], str]] = {HUGGINGFACE: _from_huggingface, KAGGLE: _from_kaggle}
