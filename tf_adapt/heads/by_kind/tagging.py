"""Heads that label each word."""

from tf_adapt.errors import ConfigError
from tf_adapt.heads.asked import Asked


def check(asked: Asked) -> None:
    """Checks a tagger.

    Raises:
        ConfigError: a pooling of the whole text is given.
    """
    if asked.pooling is not None:
        raise ConfigError(
            f"head_pooling: expected none for the head {asked.name}, which labels each word, got "
            f"{asked.pooling}; a word's state from those of its pieces is head_word_pieces"
        )


def refuse_vectors(kind: str, family: str) -> str:
    """The name of a head on one vector for a text: there is none.

    Raises:
        ConfigError: always.
    """
    raise ConfigError(
        f"task: {kind} needs a state for each word, and an encoder of the family {family} "
        "has one vector for a text; take a BERT, an ELMo or word vectors"
    )
