"""What the preset folders of all keras-hub backbones share: settings by class, names of weights."""

import re
from pathlib import Path

import numpy as np

from hub_modules.errors import ArtifactError
from hub_modules.sources.files.folder import read_json, setting
from hub_modules.sources.files.hdf5 import open_strictly
from hub_modules.sources.layouts.names import Row, check, to_ours


def class_config(path: Path, class_name: str) -> dict:
    """The arguments of a serialized object.

    Raises:
        ArtifactError: the file is missing or damaged, or describes another class.
    """
    settings = read_json(path)
    got = setting(settings, "class_name", "a text", path)
    if got != class_name:
        raise ArtifactError(f"{path}: class_name: expected {class_name}, got {got}")
    return setting(settings, "config", "an object", path)


def plain_name(name: str, block: str) -> str:
    """Keras saves attributes with their leading underscore, and does not number a first layer.

    Args:
        block: name of the repeated layer, such as "transformer_encoder".
    """
    plain = re.sub(r"(^|/)_+", r"\1", name)
    return plain.replace(f"layers/{block}/", f"layers/{block}_0/", 1)


def read_weights(
    path: Path, rows: list[Row], block: str
) -> tuple[dict[str, np.ndarray], tuple[str, ...]]:
    """The weights of a preset by our names, and what is left out: the states of dropouts.

    Args:
        rows: the name table, filled in.
        block: as of `plain_name`.

    Raises:
        ArtifactError: the file is missing or damaged; a weight is missing, unknown or of another
            shape.
    """
    with open_strictly(path) as stored:
        arrays = {plain_name(name, block): array for name, array in stored.items()}
        left_out = {name for name in arrays if "/seed_generator/" in name}
        kept = {name: arrays[name].shape for name in arrays.keys() - left_out}
        check(rows, kept, str(path))
        weights = to_ours(rows, lambda name: arrays[name][()], str(path))
    return weights, tuple(sorted(left_out))


def sizes(settings: dict, where: Path) -> dict:
    """The arguments that our transformer encoders have in common, from a backbone's.

    Raises:
        ArtifactError: a value is missing or of another kind.
    """
    integer = "a positive integer"
    dropout = setting(settings, "dropout", "a number from 0 to below 1", where)
    return {
        "vocabulary_size": setting(settings, "vocabulary_size", integer, where),
        "width": setting(settings, "hidden_dim", integer, where),
        "num_layers": setting(settings, "num_layers", "an integer from 1 to 1000", where),
        "num_heads": setting(settings, "num_heads", integer, where),
        "intermediate_width": setting(settings, "intermediate_dim", integer, where),
        "max_positions": setting(settings, "max_sequence_length", integer, where),
        "activation": "gelu_tanh",
        "dropout": dropout,
        "attention_dropout": dropout,
    }
