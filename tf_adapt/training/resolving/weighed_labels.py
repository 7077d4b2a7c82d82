"""The weights of labels in the loss of a run."""

import tensorflow as tf

from tf_adapt.config.sections import Config
from tf_adapt.data.packing.prepared import PreparedData
from tf_adapt.errors import ConfigError
from tf_adapt.models.adapted_model import AdaptedModel
from tf_adapt.tasks.class_weights import class_weights


def weigh_labels(config: Config, model: AdaptedModel, train: PreparedData) -> None:
    """Gives the model the `training.class_weight` of a config, if there is one.

    Raises:
        ConfigError: a label or a factor is wrong.
    """
    given = config.training.class_weight
    if given is None:
        return
    targets = train.targets
    values = targets.flat_values if isinstance(targets, tf.RaggedTensor) else targets
    try:
        weights = class_weights(model.task, given, [values.numpy()])
    except ConfigError as error:
        raise ConfigError(f"training.{error}") from None
    model.class_weights = tf.constant(weights)
