"""Handles of model hubs: `hf://ORG/NAME`, `kaggle://…`; what they name is kept in the hubs' own
caches, with the hubs' own tokens."""

import functools
import os
import re
import textwrap
from collections.abc import Callable
from pathlib import Path
from socket import gaierror
from typing import Any

from hub_modules.errors import ArtifactError, ConfigError
from hub_modules.storage.fetching import check_fetching, may_fetch
from hub_modules.storage.hub_pages import page_hint

HUGGINGFACE, KAGGLE = "hf://", "kaggle://"
_NAME = r"[A-Za-z0-9][\w.-]{0,95}"
_HF_NAME = re.compile(rf"({_NAME}(?:/{_NAME})?)(?:@((?!.*\.\.)[\w./-]{{1,100}}))?", re.ASCII)
_KAGGLE_NAME = re.compile(r"[\w-]+/[\w.-]+/[\w-]+/[\w.-]+(?:/\d+)?", re.ASCII)
# What to do about an answer of a hub, by its status.
_ANSWERS = {
    401: "there is no such model, or it needs a login; compare the name with the model's page, or "
    "log in to the hub",
    403: "it is not open to this login; ask for access on the model's page",
    404: "there is no such model or revision; compare the name with the model's page",
}
_ANSWER = "try again later"
# Settings and what a tokenizer needs; weights as safetensors, never pickles or parts.
_SETTINGS = ("*.json", "*.txt", "*.model", "1_Pooling/*", "README.md", "LICENSE*")
_WEIGHTS = "model.safetensors"
_ALL = (*_SETTINGS, _WEIGHTS, "heads.safetensors")
_LEFT_OUT = ["onnx/*", "openvino/*"]


def is_address(handle: str) -> bool:
    """Whether a handle names what may have to be fetched: a URL, or a model of a hub."""
    return handle.startswith(("http://", "https://", *_HUBS))


def local_handle(handle: str | os.PathLike) -> str:
    """A hub's handle as the folder in its cache, downloaded where it is not there yet; any other as
    it is.

    Raises:
        ArtifactError: there is no such model, or it cannot be downloaded; as `check_fetching`.
        ConfigError: it is no name of the hub but its page or something else, or the hub's package
            is not installed.
    """
    text = os.fspath(handle)
    if "://" in text and (hint := page_hint(text)) is not None:
        raise ConfigError(f"module {text}: {hint}")
    for prefix, fetch in _HUBS.items():
        if text.startswith(prefix):
            return fetch(text.removeprefix(prefix))
    return text


def _from_huggingface(text: str) -> str:
    handle = f"{HUGGINGFACE}{text}"
    match = _HF_NAME.fullmatch(text)
    _package("huggingface_hub", handle)
    if match is None or not _is_valid_name(match[1]):
        raise ConfigError(
            f"module {handle}: expected hf://ORG/NAME or hf://ORG/NAME@REVISION, got something "
            "else; copy the name from the model's page"
        )
    from huggingface_hub import constants

    (name, revision), cache = match.groups(), constants.HF_HUB_CACHE

    def is_cached() -> bool:
        try:
            return (Path(_snapshot(name, revision, cache, True, _ALL)) / _WEIGHTS).is_file()
        except FileNotFoundError:
            return False

    where = name.split("/")[-1]
    asked = f"{name} --revision {revision}" if revision else name
    advice = f"`hf download {asked} --local-dir {where}`, and give the folder ./{where}"
    # Other libraries keep only the files that they read: only the hub knows what is missing.
    download = functools.partial(_snapshot, name, revision, cache, not may_fetch())
    # The weights are large: what no encoder reads is refused before they are fetched.
    settings = _fetched(handle, functools.partial(download, _SETTINGS), advice, is_cached)
    is_model = _check_family(Path(settings), handle)
    folder = _fetched(handle, functools.partial(download, _ALL), advice, is_cached)
    if is_model and not (Path(folder) / _WEIGHTS).is_file():
        import huggingface_hub

        # Without a network the folder is what other libraries kept, and this fails.
        asks = functools.partial(huggingface_hub.file_exists, name, _WEIGHTS, revision=revision)
        _fetched(handle, asks, advice)
        raise ArtifactError(f"module {handle}: {_no_weights(Path(folder), name)}")
    return folder


def _check_family(folder: Path, handle: str) -> bool:
    """Whether a folder is of HuggingFace's format.

    Raises:
        ArtifactError: it is, and of a family that no encoder reads, or of PEFT's.
    """
    # Imported here: these ask this file for folders.
    from hub_modules.huggingface_handles import model_type
    from hub_modules.keras_hub.handles import check_not_foreign, is_known

    family = model_type(folder)
    if not is_known(family):
        check_not_foreign(folder, handle)
    return family is not None


def _no_weights(folder: Path, name: str) -> str:
    """What there is in the place of `model.safetensors`, and what to do."""
    saved = "and give the folder (in transformers: save_pretrained of the model"
    if (folder / f"{_WEIGHTS}.index.json").is_file():
        return (
            f"expected {_WEIGHTS}, got weights in several files; save them as one, {saved}, with a "
            "larger max_shard_size, and of the tokenizer)"
        )
    return (
        f"it has no {_WEIGHTS}, and other files of weights are not read; another revision may have "
        f"one ({HUGGINGFACE}{name}@refs/pr/N, see the model's page), or save it so, {saved} and of "
        "the tokenizer)"
    )


def _is_valid_name(name: str) -> bool:
    from huggingface_hub.utils import HFValidationError, validate_repo_id

    try:
        validate_repo_id(name)
    except HFValidationError:
        return False
    return True


@functools.cache
def _snapshot(
    name: str, revision: str | None, cache: str, local_files_only: bool, files: tuple[str, ...]
) -> str:
    """The folder of a revision, completed; as it is in the cache where there is no network. One
    process has one revision, and asks for the same files once."""
    import huggingface_hub

    return huggingface_hub.snapshot_download(
        name,
        revision=revision,
        cache_dir=cache,
        allow_patterns=list(files),
        ignore_patterns=_LEFT_OUT,
        local_files_only=local_files_only,
    )


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
    if (folder := _in_kaggle_cache(name)) is not None:
        return folder
    download = functools.partial(hub.model_download, name)
    advice = (
        f"`python -c 'import kagglehub; print(kagglehub.model_download(\"{name}\"))'`, and give a "
        "copy of the folder that it prints"
    )
    return _fetched(handle, download, advice)


def _in_kaggle_cache(name: str) -> str | None:
    """The folder of a version, or of the newest one, that was downloaded as a whole."""
    from kagglehub.cache import get_cached_path
    from kagglehub.handle import parse_model_handle

    model = parse_model_handle(name)
    folder = Path(get_cached_path(model))  # …/VARIATION/VERSION, beside VERSION.complete
    whole = {int(p.stem) for p in folder.parent.glob("*.complete") if p.stem.isdecimal()}
    versions = whole & {model.version} if model.is_versioned() else whole
    folders = [folder.with_name(str(version)) for version in sorted(versions, reverse=True)]
    return next((str(kept) for kept in folders if kept.is_dir()), None)


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
    download: Callable[[], Any],
    advice: str,
    is_cached: Callable[[], bool] = lambda: False,
) -> Any:
    check_fetching(handle, is_cached)
    try:
        return download()
    # The packages report a lost connection, an unknown name and a refused login in many classes.
    except Exception as error:
        raise ArtifactError(
            f"module {handle}: it is not in the cache of this machine, and "
            f"{_why_not(error, advice)}"
        ) from error


def _why_not(error: Exception, advice: str) -> str:
    """Why a download failed, and what to do."""
    causes = [error]
    while (cause := causes[-1].__cause__ or causes[-1].__context__) is not None:
        causes.append(cause)
    codes = [getattr(getattr(one, "response", None), "status_code", None) for one in causes]
    if code := next(filter(None, codes), None):
        return f"the hub answered {code}: {_ANSWERS.get(code, _ANSWER)}"
    elsewhere = f"try again with a network, or on a machine that has one run {advice}"
    if "OfflineModeIsEnabled" in (type(one).__name__ for one in causes):
        return f"HF_HUB_OFFLINE forbids to download it; unset that, or {elsewhere}"
    if any(isinstance(one, ConnectionError | TimeoutError | gaierror) for one in causes):
        return f"there is no connection to the hub; {elsewhere}"
    said = textwrap.shorten(str(causes[-1]), 100, placeholder=" …")
    return f"the download failed ({type(causes[-1]).__name__}: {said}); {elsewhere}"


_HUBS: dict[str, Callable[[str], str]] = {HUGGINGFACE: _from_huggingface, KAGGLE: _from_kaggle}
