"""Heads that find the answer to a question in its context."""

from hub_modules.families import FAMILIES
from tf_adapt.errors import ConfigError
from tf_adapt.heads.asked import Asked
from tf_adapt.heads.by_kind.classification import check_text
from tf_adapt.tasks.span_search import check_reader


def check(asked: Asked) -> None:
    """Checks a reader of questions.

    Raises:
        ConfigError: the encoder does not read question and context as one row; a pooling is given.
    """
    check_reader(asked.family)
    if FAMILIES[asked.family].joins_pairs and not asked.joint:
        raise ConfigError(
            f"head: {asked.name} takes a question and its context as one row, got pairs='separate' "
            "(encoder.pairs); leave it out"
        )
    if asked.pooling is not None:
        raise ConfigError(
            f"head_pooling: expected none for the head {asked.name}, which reads each token, got "
            f"{asked.pooling}"
        )
    check_text(asked)
