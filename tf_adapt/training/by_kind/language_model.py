"""Language models: the text is its own target, and the output layer is the module's own."""

from tf_adapt.models.adapted_model import AdaptedModel


def no_head_encoder(model: AdaptedModel) -> None:
    """None: the objective runs the encoder on the texts."""
    return


def no_head_name(*arguments) -> None:
    """None: the head has no name."""
    return


def no_splits(names: list[str], writes: bool) -> list[str]:
    """None: a text has no label to predict."""
    return []
