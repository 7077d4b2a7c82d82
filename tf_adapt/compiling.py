"""The model of a run: encoder, head and optimizer as the config says, compiled."""

import contextlib
from collections.abc import Iterator

import keras

from tf_adapt.auxiliary import AuxiliaryLoss
from tf_adapt.config import adaptation_of
from tf_adapt.config_sections import Config
from tf_adapt.distillation import distillation_objective
from tf_adapt.encoder import HubEncoder
from tf_adapt.errors import ConfigError
from tf_adapt.fisher import load_fisher
from tf_adapt.language_model import build_language_model
from tf_adapt.language_modeling import language_model_objective
from tf_adapt.model import AdaptedModel, build_model
from tf_adapt.optimizers import DiscriminativeOptimizer
from tf_adapt.penalties import ewc, l2_sp
from tf_adapt.starting_point import StartingPoint, pretrained_groups
from tf_adapt.tasks import Task

OPTIMIZERS = {
    "adamw": keras.optimizers.AdamW,
    "sgd": keras.optimizers.SGD,
    "lamb": keras.optimizers.Lamb,
    "lion": keras.optimizers.Lion,
}


def configured_model(config: Config, task: Task) -> AdaptedModel:
    """Builds encoder and head as the config says.

    Raises:
        ConfigError, ArtifactError: as `HubEncoder` and `build_model`.
    """
    encoder = HubEncoder(
        config.encoder.handle,
        trainable=config.adaptation.name != "feature_extraction",
        execution=config.encoder.execution,
        trust=config.encoder.trust,
        preprocessor=config.encoder.preprocessor,
        pretrained=config.encoder.pretrained,
        pairs=config.encoder.pairs,
        gradient_checkpointing=config.training.gradient_checkpointing,
        **_adapters(config),
    )
    adaptation = adaptation_of(config.adaptation)
    if task.is_language_model:
        return build_language_model(task, encoder, adaptation)
    return build_model(
        task,
        encoder,
        config.head,
        adaptation,
        config.head_dropout,
        config.head_units,
        _auxiliaries(config, encoder),
    )


def _auxiliaries(config: Config, encoder: HubEncoder) -> list[AuxiliaryLoss]:
    makers = {
        "language_model": language_model_objective,
        "distillation": distillation_objective,
    }
    return [
        AuxiliaryLoss(makers[name](encoder), loss.weight, loss.final_weight, loss.anneal_steps)
        for name, loss in config.auxiliary
        if loss is not None
    ]


def _adapters(config: Config) -> dict:
    if config.adaptation.name != "adapters":
        return {}
    return {"adapters": config.adaptation.kind, "adapter_size": config.adaptation.size}


def compiled_model(config: Config, task: Task) -> AdaptedModel:
    """Builds the model and compiles it with an optimizer over all weights that are ever to train.

    Decay is decoupled, the clip is that of the global norm, Adam's moments are bias-corrected.

    Raises:
        ConfigError, ArtifactError: as `configured_model` and `DiscriminativeOptimizer`; or XLA
            cannot compile the encoder.
    """
    model = configured_model(config, task)
    optimizer = _optimizer(config, model.encoder)
    if config.penalties.l2_sp is not None:
        # Decay would pull them to zero, against the pull to the pretrained weights.
        groups = pretrained_groups(model.encoder)
        optimizer.exclude_from_weight_decay([w for _, weights in groups for w in weights])
    jit_compile = config.training.jit_compile
    if jit_compile:
        _check_compilable(model)
        # Off otherwise, since Keras would turn XLA on by itself where there is a GPU.
        model.encoder.encoder.supports_jit = True
    model.compile(
        optimizer=optimizer, loss=task.loss, metrics=task.metrics, jit_compile=jit_compile
    )
    if jit_compile and not model.jit_compile:
        raise ConfigError(
            "training.jit_compile: expected a process without deterministic operations, under "
            "which Keras does not use XLA; an earlier training of this process switched them on. "
            "Start another process"
        )
    model.optimizer.build(model.trainable_weights)
    return model


def _check_compilable(model: AdaptedModel) -> None:
    """ELMo works on the distinct words of a batch, a language model on those it masks, an LSTM of a
    head on rows that become fewer: XLA would have to know their number before."""
    encoder = model.encoder
    if (encoder.family, encoder.execution) != ("bert", "native"):
        got = f"the family {encoder.family}, execution {encoder.execution}"
    elif model.task.is_language_model or model.auxiliaries:
        got = "a language model or an auxiliary loss"
    elif not all(layer.supports_jit for layer in model.head._flatten_layers()):
        got = f"the head {type(model.head).__name__}, which has LSTMs"
    else:
        return
    raise ConfigError(
        "training.jit_compile: expected a BERT that runs natively under a head without LSTMs, got "
        f"{got}; leave it out"
    )


def penalised(config: Config, model: AdaptedModel) -> StartingPoint | None:
    """Adds the config's penalties to the model; returns the pretrained weights where any learn.

    To be called before a checkpoint is restored: the weights as they are now are the pretrained
    ones.

    Raises:
        ConfigError: as `l2_sp` and `ewc`.
    """
    if not model.encoder.trainable_groups:
        return None
    start, penalties = StartingPoint(model.encoder), config.penalties
    if penalties.l2_sp is not None:
        l2_sp(model, model.encoder, penalties.l2_sp.alpha, penalties.l2_sp.beta, start)
    if penalties.ewc is not None:
        fisher = load_fisher(penalties.ewc.fisher)
        ewc(model, model.encoder, fisher, penalties.ewc.weight, start)
    return start


def _optimizer(config: Config, encoder: HubEncoder) -> DiscriminativeOptimizer:
    settings, optimizer = config.training, config.optimizer
    momentum = {} if optimizer.momentum is None else {"momentum": optimizer.momentum}
    inner = OPTIMIZERS[optimizer.name](
        float(settings.learning_rate),
        weight_decay=settings.weight_decay,
        global_clipnorm=settings.clip_norm,
        **momentum,
    )
    try:
        return DiscriminativeOptimizer(inner, encoder, optimizer.decay, optimizer.factors)
    except ConfigError as error:
        raise ConfigError(f"optimizer.{error}") from None


@contextlib.contextmanager
def precision(name: str | None) -> Iterator[None]:
    """Layers made inside compute in `name` (bfloat16, float16, None: as before)."""
    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy(f"mixed_{name}" if name else before)
    try:
        yield
    finally:
        keras.config.set_dtype_policy(before)
