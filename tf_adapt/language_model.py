"""Language-model fine-tuning as a training of its own: an encoder learns from unlabelled text."""

import keras

from tf_adapt.adaptation import Adaptation, as_adaptation
from tf_adapt.encoder import HubEncoder
from tf_adapt.language_modeling import language_model_objective
from tf_adapt.model import AdaptedModel
from tf_adapt.tasks import Task
from tf_adapt.unfreezing import make_trainable


def build_language_model(
    task: Task, encoder: HubEncoder, adaptation: str | Adaptation | None = None
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
    objective = language_model_objective(encoder)
    # What the objective does not read would get no gradient.
    encoder.leave_unread(("pooler",))
    if adaptation is not None:
        make_trainable(encoder, as_adaptation(adaptation))
    return LanguageModel(task, encoder, objective)


@keras.saving.register_keras_serializable("tf_adapt")
class LanguageModel(AdaptedModel):
    """An `AdaptedModel` whose head is a language-model objective.

    Shapes: inputs `{"a": encoder inputs}` → a loss for each target, −1 where there is none; see
    `tf_adapt.language_modeling`. Targets are not looked at.
    """

    def call(self, inputs, training=None):
        return self.head(inputs["a"], encoder=self.encoder, training=training)
