"""Heads that read a text or a pair of texts as a whole."""

from hub_modules.families import FAMILIES
from tf_adapt.errors import ConfigError
from tf_adapt.heads.asked import Asked


def check_text(asked: Asked) -> None:
    """Checks a head on a text.

    Raises:
        ConfigError: a way to read the pieces of a word is given.
    """
    if asked.word_pieces is not None:
        raise ConfigError(
            f"head_word_pieces: expected none for {asked.kind}, got {asked.word_pieces}; it is for "
            "tagging, and head_pooling for the others"
        )


def check_pair(asked: Asked) -> None:
    """Checks a head on a pair of texts.

    Raises:
        ConfigError: as `check_text`; it reads a row of both texts, and there is none.
    """
    if asked.name == "linear" and FAMILIES[asked.family].joins_pairs and not asked.joint:
        raise ConfigError(
            "head: linear takes the pooled vector of a row with both texts; with pairs='separate' "
            "(encoder.pairs), and with encoder.long, expected one of esim, bi_attention, "
            "max_pooling, skip_thoughts, infersent, cosine, euclidean"
        )
    check_text(asked)
