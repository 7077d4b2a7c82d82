"""Language-model fine-tuning: training an encoder on unlabelled text."""

import keras

from tf_adapt.adaptation.adaptations import as_adaptation
from tf_adapt.adaptation.phases import HEAD, Adaptation
from tf_adapt.adaptation.unfreezing import group_names, make_trainable
from tf_adapt.encoder.hub_encoder import HubEncoder
from tf_adapt.encoder.reinitialised import refuse_new_layers
from tf_adapt.errors import ConfigError
from tf_adapt.heads.contrastive import refuse_kind
from tf_adapt.models.adapted_model import AdaptedModel
from tf_adapt.models.language_losses import CausalLanguageModel
from tf_adapt.models.language_objectives import language_model_objective
from tf_adapt.tasks.task import Task


def build_language_model(
    task: Task, encoder: HubEncoder, adaptation: str | Adaptation | None = None
) -> "LanguageModel":
    """An encoder with its module's own output layer, ready for `compile` and unlabelled text.

    A causal module's output layer is its table of word embeddings.

    Args:
        task: `Task("language_model")`.
        encoder: a native `HubEncoder` whose module has an output layer.
        adaptation: as in `build_model`; "feature_extraction" trains only the output layer.

    Raises:
        ConfigError: the module has no output layer, or the adaptation is unknown or contradicts
            the encoder, trains nothing at first, or draws layers anew.

    Examples:
        >>> task, encoder = ta.Task("language_model"), ta.HubEncoder("modules/masked_bert")
        >>> model = build_language_model(task, encoder)
        >>> model.compile(keras.optimizers.AdamW(1e-4), task.loss, metrics=task.metrics)
        >>> model.fit(ta.batches(["one text", "another text"], task, encoder))

    References: Howard and Ruder 2018, "Universal Language Model Fine-tuning", section 3.2.
    """
    objective = language_model_objective(encoder)
    # The objective does not use the pooler, which would get no gradient.
    encoder.leave_unread(("pooler",))
    adaptation = None if adaptation is None else as_adaptation(adaptation)
    if adaptation is not None:
        refuse_new_layers(adaptation.reinitialised, task.kind)
        make_trainable(encoder, adaptation)
    if adaptation is not None and adaptation.pairs is not None:
        raise ConfigError(f"adaptation: {refuse_kind(task.kind)}")
    if isinstance(objective, CausalLanguageModel):
        phases = [] if adaptation is None else adaptation.phases(group_names(encoder))
        if any(phase.groups == (HEAD,) for phase in phases) or not encoder.trainable_weights:
            raise ConfigError(
                f"module {encoder.handle}: expected an adaptation that trains the encoder from the "
                "first step, for its table of word embeddings is the output layer, and there is no "
                f"head to train alone, got {getattr(adaptation, 'name', 'a frozen encoder')}; take "
                "fine_tuning, top_layers, adapters, lora or bitfit"
            )
    return LanguageModel(task, encoder, objective, adaptation=adaptation)


@keras.saving.register_keras_serializable("tf_adapt")
class LanguageModel(AdaptedModel):
    """An `AdaptedModel` whose head is a language-model objective.

    Shapes: inputs `{"a": encoder inputs}` → the loss of each target, −1 where there is no target:
    see `tf_adapt.models.language_objectives`. The targets of the dataset are ignored.
    """

    def call(self, inputs, training=None):
        return self.head(inputs["a"], encoder=self.encoder, training=training)
