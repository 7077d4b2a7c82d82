"""Language models: the text is its own target, and the output layer is the module's own."""

from collections.abc import Sequence

from tf_adapt.adaptation.phases import Adaptation
from tf_adapt.encoder.hub_encoder import HubEncoder
from tf_adapt.models.adapted_model import AdaptedModel
from tf_adapt.models.language_model import build_language_model
from tf_adapt.tasks.task import Task


def build(
    task: Task, encoder: HubEncoder, adaptation: Adaptation, auxiliaries: Sequence = (), **head
) -> AdaptedModel:
    """A language model, which has no auxiliary losses, and no other head than its module's."""
    return build_language_model(task, encoder, adaptation)


def no_head_encoder(model: AdaptedModel) -> None:
    """None: the objective runs the encoder on the texts."""
    return


def no_head_name(*arguments) -> None:
    """None: the head has no name, and reads what its module's does."""
    return


def no_splits(names: list[str], writes: bool) -> list[str]:
    """None: a text has no label to predict."""
    return []
