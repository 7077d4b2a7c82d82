"""Auxiliary losses of a model that is trained on a task: language modelling, distillation and
consistency."""

import keras
import tensorflow as tf
from keras import ops

from tf_adapt.errors import ConfigError
from tf_adapt.models.signals.consistency import Consistency
from tf_adapt.tasks.losses import global_mean


def annealed(weight: float, final_weight: float, steps: float, step):
    """Exponential from `weight` at step 0 to `final_weight` at `steps`, then constant.

    `weight · (final_weight / weight)^min(step / steps, 1)`.

    Source: Chronopoulou et al. 2019, "An Embarrassingly Simple Approach for Transfer Learning from
    Pretrained Language Models" (SiATL), equation 3.
    """
    share = ops.minimum(ops.cast(step, "float32") / steps, 1.0)
    return weight * (final_weight / weight) ** share


@keras.saving.register_keras_serializable("tf_adapt")
class AuxiliaryLoss(keras.layers.Layer):
    """A weighted loss that an `AdaptedModel` adds to its task's loss in training.

    weight(step) times the mean of an objective over its targets in the global batch; for a pair
    whose texts are encoded separately, over the targets of both. The step is the optimizer's, so a
    resumed run continues the schedule.

    Args:
        objective: a layer as in `tf_adapt.models.language_objectives`, `Distillation`, or
            `Consistency`, whose targets are the unlabelled texts.
        weight: above 0; SiATL 0.2.
        final_weight: above 0, if the weight is annealed; SiATL 0.1.
        anneal_steps: training steps until `final_weight` is reached; SiATL 15 epochs.

    Raises:
        ConfigError: a weight is not above 0, or only one of the last two is given.

    Examples:
        >>> loss = AuxiliaryLoss(language_model_objective(encoder), weight=0.2)
        >>> model = ta.build_model(task, encoder, auxiliaries=[loss])
    """

    def __init__(
        self,
        objective: keras.layers.Layer,
        weight: float = 1.0,
        final_weight: float | None = None,
        anneal_steps: float | None = None,
        **kwargs,
    ):
        super().__init__(**kwargs)
        for name, value in (("weight", weight), ("final_weight", final_weight)):
            if value is not None and not value > 0:
                raise ConfigError(f"auxiliary {name}: expected a number above 0, got {value!r}")
        if (final_weight is None) != (anneal_steps is None) or (
            anneal_steps is not None and not anneal_steps > 0
        ):
            raise ConfigError(
                "auxiliary anneal_steps: expected a number above 0 together with final_weight, got "
                f"{anneal_steps!r} with {final_weight!r}"
            )
        self.supports_jit = False
        self.objective = objective
        self.weight = weight
        self.final_weight = final_weight
        self.anneal_steps = anneal_steps
        self.built = True

    def call(self, inputs, encoder=None, encoded=None, step=0, training=None, outputs_of=None):
        if isinstance(self.objective, Consistency):
            parts = [
                self.objective(inputs, encoder=encoder, outputs_of=outputs_of, training=training)
            ]
        else:
            parts = [
                self.objective(
                    inputs[name], encoder=encoder, encoded=one_encoded, training=training
                )
                for name, one_encoded in zip(text_columns(inputs), encoded, strict=True)
            ]
        losses = tf.concat([tf.reshape(loss, [-1]) for loss in parts], axis=0)
        return self.weight_at(step) * mean_loss(losses)

    def weight_at(self, step):
        """The weight at a training step from 0."""
        if self.final_weight is None:
            return self.weight
        return annealed(self.weight, self.final_weight, self.anneal_steps, step)

    def get_config(self) -> dict:
        return super().get_config() | {
            "objective": keras.saving.serialize_keras_object(self.objective),
            "weight": self.weight,
            "final_weight": self.final_weight,
            "anneal_steps": self.anneal_steps,
        }

    @classmethod
    def from_config(cls, config: dict) -> "AuxiliaryLoss":
        """The layer of `get_config`."""
        objective = keras.saving.deserialize_keras_object(config["objective"])
        return cls(**config | {"objective": objective})


def text_columns(inputs: dict) -> list[str]:
    """The keys of the encoder's inputs, "a" or "a" and "b", among a model's inputs."""
    return [name for name in ("a", "b") if name in inputs]


def mean_loss(losses):
    """Mean of an objective's losses over the global batch, −1 left out: see `global_mean`."""
    return global_mean(losses, losses >= 0)
