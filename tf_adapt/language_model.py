"""Language-model fine-tuning as a training of its own: an encoder learns from unlabelled text."""

import keras

from tf_adapt.encoder import HubEncoder
from tf_adapt.errors import ConfigError
from tf_adapt.language_modeling import language_model_objective
from tf_adapt.model import ADAPTATIONS, AdaptedModel
from tf_adapt.tasks import Task


def build_language_model(
    task: Task, encoder: HubEncoder, adaptation: str | None = None
) -> "LanguageModel":
    """An encoder with its module's own output layer, ready for `compile` and unlabelled text.

    Args:
        task: `Task("language_model")`.
        encoder: a native `HubEncoder` whose module has an output layer.
        adaptation: as of `build_model`; with "feature_extraction" the output layer alone learns.

    Raises:
        ConfigError: the module has no output layer, or the adaptation is unknown or contradicts
            the encoder.

    Example:
        >>> task, encoder = ta.Task("language_model"), ta.HubEncoder("bert_small")
        >>> model = build_language_model(task, encoder)
        >>> model.compile(keras.optimizers.AdamW(1e-4), task.loss, metrics=task.metrics)
        >>> model.fit(ta.batches(["one text", "another text"], task, encoder))

    References: Howard and Ruder 2018, "Universal Language Model Fine-tuning", section 3.2.
    """
    if adaptation not in (None, *ADAPTATIONS):
        raise ConfigError(f"adaptation: expected one of {list(ADAPTATIONS)}, got {adaptation!r}")
    if adaptation == "feature_extraction":
        encoder.trainable = False
    if adaptation == "fine_tuning" and not encoder.trainable:
        raise ConfigError(
            "adaptation: fine_tuning needs an encoder with trainable=True, got trainable=False"
        )
    objective = language_model_objective(encoder)
    # What the objective does not read would get no gradient.
    encoder.unread_groups = tuple(name for name, _ in encoder.layer_groups if name == "pooler")
    learning = [name for name in encoder.trainable_groups if name not in encoder.unread_groups]
    encoder.set_trainable_groups(learning)
    return LanguageModel(task, encoder, objective)


@keras.saving.register_keras_serializable("tf_adapt")
class LanguageModel(AdaptedModel):
    """An `AdaptedModel` whose head is a language-model objective.

    Shapes: inputs `{"a": encoder inputs}` → a loss for each target, −1 where there is none; see
    `tf_adapt.language_modeling`. Targets are not looked at.
    """

    def call(self, inputs, training=None):
        return self.head(inputs["a"], encoder=self.encoder, training=training)
