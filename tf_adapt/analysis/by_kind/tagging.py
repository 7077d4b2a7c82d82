"""A vector for each word."""

from typing import TYPE_CHECKING

from hub_modules.families import FAMILIES
from tf_adapt.errors import ConfigError

if TYPE_CHECKING:  # it imports TensorFlow
    from tf_adapt.encoder.hub_encoder import HubEncoder


def check(kind: str, pooling: str | None, word_pieces: str | None) -> None:
    """Checks how vectors are asked for.

    Raises:
        ConfigError: as vectors of texts.
    """
    if pooling is not None:
        raise ConfigError(
            f"--pooling: expected none for {kind}, whose items are words, got {pooling}; a word's "
            "vector from those of its pieces is --word-pieces"
        )


def vectors(encoder: "HubEncoder", pooling: str | None, word_pieces: str | None) -> dict[str, str]:
    """How a word's vector comes from the states of its pieces: see `pooled_states`."""
    return {"word_pieces": word_pieces or FAMILIES[encoder.family].word_piece}
