"""The optional output layer of a module as files: `output_layer.npz`, ELMo: `output_words.txt`."""

import io
import os
from pathlib import Path

import numpy as np

from hub_modules.errors import ArtifactError, ConfigError
from hub_modules.manifest import read_manifest, verify
from hub_modules.manifest_schemas import ModuleManifest
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
    manifest = read_manifest(folder)
    return isinstance(manifest, ModuleManifest) and LAYER_FILE in manifest.files


def read_output_layer(
    folder: str | os.PathLike, encoder, **options
) -> tuple[OutputLayer, list[str] | None] | None:
    """The output layer in a module's folder and, for ELMo, its words by id; None if it has none.

    Args:
        folder: of the module (`hub_modules.find.find_module`).
        encoder: the native encoder whose hidden states the layer takes.
        options: Keras' (`name`, `dtype`, `trainable`).

    Raises:
        ArtifactError: the module is damaged, or the layer does not fit the encoder.
        ConfigError: the encoder is not a native one.
    """
    folder = Path(folder)
    if not has_output_layer(folder):
        return None
    manifest = read_manifest(folder)
    if not hasattr(encoder, "weights_by_name"):
        raise ConfigError(
            f"module {folder}: its output layer needs the native encoder, got execution: "
            "saved_model; use execution: native"
        )
    verify(folder, manifest)
    has_words = OWN_FAMILIES[manifest.kind].has_output_words
    words = read_words(folder / WORDS_FILE) if has_words else None
    layer = new_output_layer(manifest.kind, encoder.get_config(), words, **options)
    shapes = {name: tuple(weight.shape) for name, weight in layer.weights_by_name().items()}
    layer.load_weights_by_name(read_arrays(folder / LAYER_FILE, shapes))
    return layer, words


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
        words = check_words(source.output_words, WORDS_FILE)
        text = "".join(f"{word}\n" for word in words)
        (folder / WORDS_FILE).write_text(text, encoding="utf-8", newline="\n")
    layer = new_output_layer(source.family, source.config, source.output_words)
    layer.load_weights_by_name(source.output_layer)
    packed = io.BytesIO()
    np.savez(packed, **{name: _compact(array) for name, array in source.output_layer.items()})
    (folder / LAYER_FILE).write_bytes(packed.getbuffer())


def _compact(array: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore"):
        half = array.astype(np.float16)
    return half if np.array_equal(half.astype(array.dtype), array) else array
