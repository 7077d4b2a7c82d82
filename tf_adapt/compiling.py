"""The model of a run: encoder, head and optimizer as the config says, compiled."""

import contextlib
from collections.abc import Iterator

import keras

from tf_adapt.config import Config
from tf_adapt.encoder import HubEncoder
from tf_adapt.language_model import build_language_model
from tf_adapt.model import AdaptedModel, build_model
from tf_adapt.tasks import Task

# As in google-research/bert: neither biases nor the parameters of LayerNorms decay.
NOT_DECAYED = ("bias", "gamma", "beta")


def configured_model(config: Config, task: Task) -> AdaptedModel:
    """Builds encoder and head as the config says.

    Raises:
        ConfigError, ArtifactError: as `HubEncoder` and `build_model`.
    """
    encoder = HubEncoder(
        config.encoder.handle,
        trainable=config.adaptation != "feature_extraction",
        execution=config.encoder.execution,
        trust=config.encoder.trust,
        preprocessor=config.encoder.preprocessor,
    )
    if task.is_language_model:
        return build_language_model(task, encoder, config.adaptation)
    return build_model(
        task, encoder, config.head, config.adaptation, config.head_dropout, config.head_units
    )


def compiled_model(config: Config, task: Task) -> AdaptedModel:
    """Builds the model with AdamW (bias-corrected), clipped by the global norm, and compiles it.

    Raises:
        ConfigError, ArtifactError: as `configured_model`.
    """
    settings = config.training
    model = configured_model(config, task)
    optimizer = keras.optimizers.AdamW(
        float(settings.learning_rate),
        weight_decay=settings.weight_decay,
        global_clipnorm=settings.clip_norm,
    )
    optimizer.exclude_from_weight_decay(
        var_list=[weight for weight in model.trainable_weights if not decays(weight.name)]
    )
    # Every batch has another length: XLA would compile each of them anew.
    model.compile(optimizer=optimizer, loss=task.loss, metrics=task.metrics, jit_compile=False)
    model.optimizer.build(model.trainable_weights)
    return model


def decays(name: str) -> bool:
    """Whether a weight of this name (`layer_0/output/bias`, `kernel`, `beta:0`) decays."""
    return not name.split("/")[-1].split(":")[0].endswith(NOT_DECAYED)


@contextlib.contextmanager
def precision(name: str | None) -> Iterator[None]:
    """Layers made inside compute in `name` (bfloat16, float16, None: as before)."""
    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy(f"mixed_{name}" if name else before)
    try:
        yield
    finally:
        keras.config.set_dtype_policy(before)
