"""A vector for each text or pair."""

from typing import TYPE_CHECKING

from hub_modules.pooling_names import refuse_first_state
from tf_adapt.errors import ConfigError

if TYPE_CHECKING:  # it imports TensorFlow
    from tf_adapt.encoder.hub_encoder import HubEncoder


def check(kind: str, pooling: str | None, word_pieces: str | None) -> None:
    """Checks how vectors are asked for.

    Raises:
        ConfigError: as vectors of words.
    """
    if word_pieces is not None:
        raise ConfigError(
            f"--word-pieces: expected none for {kind}, got {word_pieces}; it is for tagging, "
            "and --pooling for the others"
        )


def vectors(encoder: "HubEncoder", pooling: str | None, word_pieces: str | None) -> dict[str, str]:
    """How a text's vector comes from its states, as the arguments of `pooled_states`.

    Raises:
        ConfigError: as `refuse_first_state`.
    """
    if pooling == "first":
        refuse_first_state("--pooling", encoder.family)
    return {"pooling": pooling or "mean"}
