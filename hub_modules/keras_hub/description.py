"""What a folder holds: a backbone with its arguments, a way to its weights, and a tokenizer."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hub_modules.errors import ArtifactError
from hub_modules.keras_hub.backbones import vocabulary_rows
from hub_modules.keras_hub.encoder import KerasHubEncoder


@dataclass(frozen=True)
class Description:
    """A folder of a preset, or of HuggingFace's format.

    Attributes:
        arguments: of `KerasHubEncoder`, without those of Keras.
        load: sets an encoder's weights to the stored ones.
        preprocessor: makes what turns texts into the encoder's inputs.
    """

    arguments: dict[str, Any]
    load: Callable[[KerasHubEncoder], None]
    preprocessor: Callable[[], Any]


def check_numbers(settings: dict, stored: int, where: Path) -> None:
    """Compares a configuration with how many numbers a file holds, before memory is allocated.

    Raises:
        ArtifactError: the weights of the largest layers alone need more numbers.
    """
    needed = _needed_numbers(settings)
    total, most = sum(needed.values()), max(needed, key=needed.__getitem__)
    if total > stored:
        raise ArtifactError(
            f"{where}: expected at least {total:,} numbers, as config.json says ({most} alone: "
            f"{needed[most]:,}), got {stored:,}; the weights and the configuration do not belong "
            "together: get both again"
        )


def _needed_numbers(settings: dict) -> dict[str, int]:
    """How many numbers the tables and the blocks of a backbone have."""
    width = settings["hidden_dim"]
    embedded = settings.get("embedding_dim", width)
    blocks = settings.get("num_groups", settings["num_layers"])
    blocks *= settings.get("num_inner_repetitions", 1)
    if "bucket_size" in settings:  # DeBERTa has no table of positions, but one of distances
        positions = {"distances": 2 * settings["bucket_size"] * width}
    else:
        positions = {"positions": settings["max_sequence_length"] * embedded}
    return positions | {
        "word embeddings": vocabulary_rows(settings) * embedded,
        "token types": settings.get("num_segments", 0) * embedded,
        "layers": blocks * (4 * width**2 + 2 * width * settings["intermediate_dim"]),
    }


def count_numbers(shapes) -> int:
    """Total number of numbers in arrays of these shapes."""
    return sum(math.prod(shape) for shape in shapes)
