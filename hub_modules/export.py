"""Writes a native encoder as a module: SavedModels in TF Hub's contract, and a manifest.

A written module depends on TensorFlow alone (preprocessing and ELMo's characters also on
tensorflow-text), not on this project: `hub.load` and, trainable, `hub.KerasLayer` load it.
"""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from hub_modules.errors import ArtifactError
from hub_modules.manifest import module_hash, write_manifest
from hub_modules.output_files import write_output_layer
from hub_modules.own_families import OWN_FAMILIES
from hub_modules.programs.trusted import remember
from hub_modules.sources import ModuleSource
from hub_modules.storage.files import publish_folder


def write_module(
    source: ModuleSource,
    folder: str | Path,
    beside: Mapping[str, str] | None = None,
    stored_as: str = "float32",
) -> None:
    """Writes `encoder`, `vocab.txt` (not for ELMo; causal: also `merges.txt`), for BERT and causal
    `preprocess`, and the manifest into a new folder.

    If the source has the output layer of a language model, `output_layer.npz` (ELMo: also
    `output_words.txt`) is written too.

    Args:
        beside: further files by name, as text: the module's README, for one.
        stored_as: "float32", or "float16": the encoder's weights are rounded and take half the
            space; whoever loads or runs the module computes in float32.

    Raises:
        ArtifactError: the folder exists or cannot be written, the weights do not fit, or one is
            beyond float16's range.
    """
    row = OWN_FAMILIES[source.family]
    if missing := row.missing(source):
        raise ArtifactError(f"{folder}: expected {missing}")
    encoder = native_encoder(source.family, source.config)
    encoder.load_weights_by_name(source.weights)
    if stored_as == "float16":
        _check_range(source, folder)
    with publish_folder(folder) as aside:
        # First: it may raise, and saving the encoder takes seconds.
        write_output_layer(source, aside)
        row.save(encoder, source, aside, stored_as)
        for name, text in (beside or {}).items():
            (aside / name).write_text(text, "utf-8")
        write_manifest(aside, _contract(encoder, source))
    remember(module_hash(folder))


def _check_range(source: ModuleSource, folder: str | Path) -> None:
    largest = float(np.finfo(np.float16).max)
    for name, array in source.weights.items():
        if np.abs(array).max() > largest:
            raise ArtifactError(
                f"{folder}: weight {name}: expected numbers up to {largest:g} to store in float16, "
                f"got {np.abs(array).max():g}; store the module in float32"
            )


def native_encoder(family: str, config: dict, **options):
    """A built native encoder with initial weights.

    Args:
        options: Keras' own (`name`, `dtype`), and causal `new_rows`, `segments`.
    """
    encoder = OWN_FAMILIES[family].encoder(**config, **options)
    encoder.build()
    return encoder


def _contract(encoder, source: ModuleSource) -> dict:
    weights = encoder.weights_by_name()
    return {
        "kind": source.family,
        "config": source.config,
        "lower_case": source.lower_case,
        "groups": [name for name, _ in encoder.layer_groups],
        "weights": {name: list(weight.shape) for name, weight in weights.items()},
    }
