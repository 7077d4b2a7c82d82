"""From a handle to the folder of a module."""

import os
from pathlib import Path

from hub_modules.errors import ArtifactError
from hub_modules.huggingface_handles import native_folder
from hub_modules.keras_hub.handles import check_not_foreign, hint, keras_folder
from hub_modules.shipped import PRETRAINED, shipped_names
from hub_modules.storage.model_hubs import local_handle

WORDS_SUFFIX = ".txt"
# What is left of a module where files of it are missing.
_OF_A_MODULE = ("manifest.json", "saved_model.pb", "encoder", "variables")


def is_word_vectors(handle: str | os.PathLike) -> bool:
    """Whether a handle is the path of a file of word vectors: it ends with `.txt`."""
    text = os.fspath(handle)
    return text.endswith(WORDS_SUFFIX) and not _is_url(text) and not Path(text).is_dir()


def find_module(handle: str | os.PathLike) -> Path:
    """The folder of a module: the one with the manifest, that of a plain SavedModel, or that of an
    encoder of keras-hub's layers; or the file of word vectors.

    Raises:
        ArtifactError: there is none, it cannot be downloaded, or its files are incomplete.
        ConfigError: as `hub_modules.storage.download.fetch`.
    """
    text = local_handle(handle)
    if (of_keras := keras_folder(text)) is not None:
        return of_keras
    if is_word_vectors(text):
        if "\0" in text or not Path(text).is_file():
            raise ArtifactError(
                f"module {text!r}: no such file; expected a file of word vectors in GloVe's text "
                "format, as .txt is given; check the path"
            )
        return Path(text)
    if _is_url(text):
        from hub_modules.storage.download import fetch

        folder = fetch(text, lambda fetched: _check_fetched(fetched, text))
    elif text in shipped_names():
        folder = PRETRAINED / text
    else:
        folder = Path(text)
    if (published := native_folder(folder)) is not None:
        return published
    if "\0" in text or not folder.is_dir():
        raise ArtifactError(
            f"module {text!r}: no such folder; expected a folder, a URL, hf://ORG/NAME, "
            "kaggle://…, keras:PRESET, a .txt file of word vectors, or the name of a shipped "
            f"module ({', '.join(shipped_names())}){hint(text)}"
        )
    if folder.name == "encoder" and (folder.parent / "manifest.json").is_file():
        folder = folder.parent
    check_not_foreign(folder, text)
    _check_complete(folder, text)
    return folder


def encoder_folder(folder: Path) -> Path:
    """The SavedModel of a module's encoder."""
    return folder / "encoder" if (folder / "encoder").is_dir() else folder


def _is_url(handle: str) -> bool:
    return handle.startswith(("http://", "https://"))


def _missing(folder: Path) -> Path | None:
    """The first file that a module's SavedModel lacks."""
    saved_model = encoder_folder(folder)
    for name in ("saved_model.pb", "variables/variables.index", "variables/variables.data-*"):
        if not any(path.is_file() for path in saved_model.glob(name)):
            return saved_model / name
    return None


def _check_fetched(folder: Path, handle: str) -> None:
    if (missing := _missing(folder)) is not None:
        raise ArtifactError(
            f"module {handle}: expected an archive of a module, got one without "
            f"{missing.relative_to(folder)}; check the address, or download it elsewhere and give "
            "its folder as the handle"
        )


def _check_complete(folder: Path, handle: str) -> None:
    """Refuses a folder without its SavedModel, such as a cache folder that was cleaned up."""
    if (missing := _missing(folder)) is None:
        return
    if not _is_url(handle) and not any((folder / name).exists() for name in _OF_A_MODULE):
        raise ArtifactError(
            f"module {handle}: expected the folder of a model: manifest.json (`tf-adapt module "
            "convert`), saved_model.pb, or config.json with a model_type (HuggingFace's format), "
            "got a folder without them; give the one that has them"
        )
    raise ArtifactError(f"module {handle}: {missing} is missing; {_remedy(folder, handle)}")


def _remedy(folder: Path, handle: str) -> str:
    # Only folders in TensorFlow Hub's cache may be removed; any other folder is the user's.
    if _is_url(handle):
        return f"remove the folder {folder}, and it will be fetched again"
    return "install or convert the module again, or give the folder of a whole one"
