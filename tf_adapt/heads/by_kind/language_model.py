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


def refuse_head_of_dialog() -> None:
    """Refuses heads by name: a model of dialogues has its own.

    Raises:
        ConfigError: always.
    """
    raise ConfigError(
        "head: a model of dialogues has its own two; expected tf_adapt.models.dialog.dialog_model."
        "build_dialog_model, or a config with kind: dialog"
    )


def refuse_head_of_text_generation() -> None:
    """Refuses heads by name: a decoder writes.

    Raises:
        ConfigError: always.
    """
    raise ConfigError(
        "head: a model that writes texts has a decoder; expected tf_adapt.models.text_generation."
        "encoder_decoder_model.build_encoder_decoder, or a config with kind: text_generation"
    )
