"""Language models, which bring the output layer of their module."""

from tf_adapt.errors import ConfigError


def refuse_head() -> None:
    """There is no head to choose.

    Raises:
        ConfigError: always.
    """
    raise ConfigError(
        "head: a language model has its module's own output layer; expected objective: "
        "language_model, or tf_adapt.models.language_model.build_language_model"
    )
