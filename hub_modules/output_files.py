"""The optional output layer of a module as files: `output_layer.npz`, ELMo: `output_words.txt`.

They are among the module's files; or, of a module that was pretrained without one, in a folder
`fitted` with a manifest of its own, so that the module stays the one that runs have.
"""

import io
import os
from pathlib import Path

import numpy as np

from hub_modules.errors import ArtifactError, ConfigError
from hub_modules.manifest import read_manifest, verify, write_manifest
from hub_modules.manifest_schemas import FITTED_LAYER, Manifest, ModuleManifest
from hub_modules.native.output_layers import (
    BiLanguageModelHead,
    MaskedLanguageModelHead,
    TiedLanguageModelHead,
)
from hub_modules.own_families import OWN_FAMILIES
from hub_modules.sources import ModuleSource
from hub_modules.sources.files.npz import read_arrays
from hub_modules.sources.files.words import check_words, read_words

LAYER_FILE, WORDS_FILE = "output_layer.npz", "output_words.txt"
FITTED = "fitted"

OutputLayer = MaskedLanguageModelHead | BiLanguageModelHead | TiedLanguageModelHead


def new_output_layer(
    family: str, config: dict, words: list[str] | None = None, **options
) -> OutputLayer:
    """A built output layer with initial weights.

    Args:
        family: one with an output layer of its own.
        config: of the encoder whose hidden states it takes.
        words: ELMo: the words by id.
        options: Keras' (`name`, `dtype`, `trainable`).
    """
    layer = OWN_FAMILIES[family].output_layer(config, words, **options)
    layer.build()
    return layer


def has_output_layer(folder: str | os.PathLike) -> bool:
    """Whether a module's folder has the output layer of a language model."""
    return _home(Path(folder), read_manifest(folder)) is not None


def _home(folder: Path, manifest: Manifest | None, fitted: bool = True) -> Path | None:
    """The folder that holds a module's output layer: the module's, or the fitted layer's."""
    if not isinstance(manifest, ModuleManifest):
        return None
    if LAYER_FILE in manifest.files:
        return folder
    return folder / FITTED if fitted and (folder / FITTED).is_dir() else None


def read_output_layer(
    folder: str | os.PathLike, encoder, fitted: bool = True, **options
) -> tuple[OutputLayer, list[str] | None] | None:
    """The output layer in a module's folder and, for ELMo, its words by id; None if it has none.

    Args:
        folder: of the module (`hub_modules.find.find_module`).
        encoder: the native encoder whose hidden states the layer takes.
        fitted: whether a layer counts that was fitted after pretraining.
        options: Keras' (`name`, `dtype`, `trainable`).

    Raises:
        ArtifactError: the module is damaged, or the layer does not fit the encoder.
        ConfigError: the encoder is not a native one.
    """
    folder = Path(folder)
    manifest = read_manifest(folder)
    home = _home(folder, manifest, fitted)
    if home is None:
        return None
    if not hasattr(encoder, "weights_by_name"):
        raise ConfigError(
            f"module {folder}: its output layer needs the native encoder, got execution: "
            "saved_model; use execution: native"
        )
    verify(folder, manifest)
    if home != folder:
        verify(home, _read_fitted(home))
    has_words = OWN_FAMILIES[manifest.kind].has_output_words
    words = read_words(home / WORDS_FILE) if has_words else None
    layer = new_output_layer(manifest.kind, encoder.get_config(), words, **options)
    shapes = {name: tuple(weight.shape) for name, weight in layer.weights_by_name().items()}
    layer.load_weights_by_name(read_arrays(home / LAYER_FILE, shapes))
    return layer, words


def _read_fitted(folder: Path) -> Manifest:
    """The manifest of a fitted layer.

    Raises:
        ArtifactError: it is missing, damaged or of something else.
    """
    manifest = read_manifest(folder)
    if manifest is None or manifest.kind != FITTED_LAYER or LAYER_FILE not in manifest.files:
        raise ArtifactError(
            f"{folder}: expected a fitted output layer ({LAYER_FILE} and its manifest), got "
            "something else; install the module again, or remove the folder"
        )
    return manifest


def write_fitted_layer(
    folder: Path, arrays: dict[str, np.ndarray], words: list[str] | None = None
) -> None:
    """Writes a fitted layer as the folder `fitted` of a module.

    Args:
        arrays: by the layer's names, in the precision to store.
        words: ELMo: the words by id.
    """
    folder.mkdir(parents=True)
    _write_arrays(folder, arrays)
    if words is not None:
        _write_words(folder, words)
    write_manifest(folder, {"kind": FITTED_LAYER})


def write_output_layer(source: ModuleSource, folder: Path) -> None:
    """Writes the output layer of a source, if it has one, into a module's folder.

    Arrays that float16 represents exactly are stored in float16.

    Raises:
        ArtifactError: the weights do not fit the encoder, or ELMo's words are missing or wrong.
    """
    if source.output_layer is None:
        return
    if OWN_FAMILIES[source.family].has_output_words:
        if source.output_words is None:
            raise ArtifactError(f"{WORDS_FILE}: expected the output layer's words, got none")
        _write_words(folder, source.output_words)
    layer = new_output_layer(source.family, source.config, source.output_words)
    layer.load_weights_by_name(source.output_layer)
    arrays = {name: _compact(array) for name, array in source.output_layer.items()}
    _write_arrays(folder, arrays)


def _write_arrays(folder: Path, arrays: dict[str, np.ndarray]) -> None:
    packed = io.BytesIO()
    np.savez(packed, **arrays)
    (folder / LAYER_FILE).write_bytes(packed.getbuffer())


def _write_words(folder: Path, words: list[str]) -> None:
    text = "".join(f"{word}\n" for word in check_words(words, WORDS_FILE))
    (folder / WORDS_FILE).write_text(text, encoding="utf-8", newline="\n")


def _compact(array: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore"):
        half = array.astype(np.float16)
    return half if np.array_equal(half.astype(array.dtype), array) else array
