"""The compiled model of a run: encoder, head and optimizer from the config."""

import contextlib
import functools
from collections.abc import Iterator, Mapping
from types import MappingProxyType

import keras

from hub_modules.families import FAMILIES
from tf_adapt.adaptation.discriminative import DiscriminativeOptimizer
from tf_adapt.adaptation.fisher import load_fisher
from tf_adapt.adaptation.penalties import ewc, l2_sp
from tf_adapt.config.checks import adaptation_of
from tf_adapt.config.sections import Config, EncoderConfig
from tf_adapt.config.signal_sections import ConsistencyConfig
from tf_adapt.config.training_sections import PenaltiesConfig
from tf_adapt.encoder.encoder_decoder import EncoderDecoder
from tf_adapt.encoder.hub_encoder import HubEncoder
from tf_adapt.encoder.starting_point import StartingPoint, pretrained_groups
from tf_adapt.errors import ConfigError
from tf_adapt.models.adapted_model import AdaptedModel
from tf_adapt.models.language_objectives import language_model_objective
from tf_adapt.models.multi_task_model import MultiTaskModel, build_multi_task_model
from tf_adapt.models.signals.auxiliary_loss import AuxiliaryLoss
from tf_adapt.models.signals.consistency import Consistency, consistency_objective
from tf_adapt.models.signals.distillation import distillation_objective
from tf_adapt.models.signals.slice_heads import SliceHeads
from tf_adapt.tasks.task import Task
from tf_adapt.training.kinds import KINDS

OPTIMIZERS = {
    "adamw": keras.optimizers.AdamW,
    "sgd": keras.optimizers.SGD,
    "lamb": keras.optimizers.Lamb,
    "lion": keras.optimizers.Lion,
}


def configured_model(config: Config, task: Task | dict[str, Task]) -> AdaptedModel | MultiTaskModel:
    """Builds encoder and head from the config; for several tasks a head for each.

    Raises:
        ConfigError, ArtifactError: as `HubEncoder` and `build_model`.
    """
    adaptation = adaptation_of(config.adaptation)
    needed = {} if isinstance(task, dict) else KINDS[task.kind].encoder_options
    encoder = configured_encoder(
        config.encoder, adaptation.trains_encoder, config.training.gradient_checkpointing, needed
    )
    if isinstance(task, dict):
        heads = {name: _head(config.of_task(name)) for name in task}
        weights = {name: config.tasks[name].weight for name in task}
        return build_multi_task_model(
            task, encoder, heads, adaptation, weights, config.task_attention
        )
    auxiliaries: list = _auxiliaries(config, task, encoder)
    if config.slice_heads:
        auxiliaries.append(SliceHeads(config.slices))
    build, given = KINDS[task.kind].build, _head(config)
    if config.generation is not None:
        given["generation"] = config.generation.model_dump()
    return build(task, encoder, adaptation=adaptation, auxiliaries=auxiliaries, **given)


def configured_encoder(
    section: EncoderConfig,
    trainable: bool,
    gradient_checkpointing: bool = False,
    needed: Mapping[str, int] = MappingProxyType({}),
) -> HubEncoder:
    """The encoder of a config's section, with the decoder that it names; without what an adaptation
    adds.

    Args:
        needed: further arguments, of the kind of task.

    Raises:
        ConfigError, ArtifactError: as `HubEncoder`.
    """
    given = section.model_dump() | needed | {"trainable": trainable}
    decoder = given.pop("decoder")
    if decoder is None:
        return HubEncoder(gradient_checkpointing=gradient_checkpointing, **given)
    of_both = {name: given[name] for name in ("trainable", "trust", "pretrained")}
    return EncoderDecoder(
        decoder=HubEncoder(decoder, **of_both),
        gradient_checkpointing=gradient_checkpointing,
        **given,
    )


def _head(config: Config) -> dict:
    """Arguments of `build_model` for the head."""
    return {
        "head": config.head,
        "head_dropout": config.head_dropout,
        "head_units": config.head_units,
        "head_pooling": config.head_pooling,
        "head_word_pieces": config.head_word_pieces,
        "head_mixed": config.head_mixed,
        "head_scaled": config.head_scaled,
    }


def _auxiliaries(config: Config, task: Task, encoder: HubEncoder) -> list[AuxiliaryLoss]:
    makers = {
        "language_model": language_model_objective,
        "distillation": distillation_objective,
        "consistency": functools.partial(_consistency, config.auxiliary.consistency, task),
    }
    return [
        AuxiliaryLoss(makers[name](encoder), loss.weight, loss.final_weight, loss.anneal_steps)
        for name, loss in config.auxiliary
        if loss is not None and loss.weight > 0
    ]


def _consistency(section: ConsistencyConfig, task: Task, encoder: HubEncoder) -> Consistency:
    given = section.perturbation
    more = {"epsilon": given.epsilon, "masked": given.rate if given.name == "mask" else None}
    return consistency_objective(
        task,
        encoder,
        given.name or "paraphrases",
        section.temperature,
        section.confidence,
        **{name: value for name, value in more.items() if value is not None},
    )


def compiled_model(config: Config, task: Task | dict[str, Task]) -> AdaptedModel | MultiTaskModel:
    """Builds the model of a task, or of several, and compiles it with an optimizer over all weights
    that are ever trained.

    Weight decay is decoupled, clipping is by global norm, Adam's moments are bias-corrected.

    Raises:
        ConfigError, ArtifactError: as `configured_model` and `DiscriminativeOptimizer`; or XLA
            cannot compile the model.
    """
    model = configured_model(config, task)
    optimizer = _optimizer(config, model.encoder)
    if config.penalties.l2_sp is not None:
        # Weight decay would pull them to zero, against the penalty.
        groups = pretrained_groups(model.encoder)
        optimizer.exclude_from_weight_decay([w for _, weights in groups for w in weights])
    if isinstance(model, MultiTaskModel):
        model.compile(optimizer)
        model.optimizer.build(model.trainable_weights)
        return model
    jit_compile = config.training.jit_compile
    if jit_compile:
        _check_compilable(model)
        # Only here, because by default Keras would use XLA on a GPU.
        model.encoder.allow_xla()
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
    """Refuses models with shapes that depend on values, which XLA cannot compile: the distinct
    words of a batch (ELMo), masked pieces (language models), shrinking batches (LSTMs of heads)."""
    encoder = model.encoder
    if not FAMILIES[encoder.family].allows_xla or encoder.execution != "native":
        got = f"the family {encoder.family}, execution {encoder.execution}"
    elif KINDS[model.task.kind].head_encoder(model) is None:
        got = "a language model or an auxiliary loss"
    elif not all(layer.supports_jit for layer in model.head._flatten_layers()):
        got = f"the head {type(model.head).__name__}, which has LSTMs"
    else:
        return
    raise ConfigError(
        "training.jit_compile: expected a BERT that runs natively under a head without LSTMs, got "
        f"{got}; leave it out"
    )


def penalised(
    penalties: PenaltiesConfig, model: AdaptedModel | MultiTaskModel
) -> StartingPoint | None:
    """Adds penalties to the model; returns w⁰ if any pretrained weight is trainable.

    Call it before a checkpoint is restored: w⁰ is a copy of the current weights.

    Raises:
        ConfigError: as `l2_sp` and `ewc`.
    """
    if not model.encoder.trainable_groups:
        return None
    start = StartingPoint(model.encoder)
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
        gradient_accumulation_steps=settings.accumulate_steps,
        **momentum,
    )
    try:
        return DiscriminativeOptimizer(inner, encoder, optimizer.decay, optimizer.factors)
    except ConfigError as error:
        raise ConfigError(f"optimizer.{error}") from None


@contextlib.contextmanager
def precision(name: str | None) -> Iterator[None]:
    """Sets the dtype policy to mixed `name` (bfloat16 or float16; None: unchanged) inside."""
    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy(f"mixed_{name}" if name else before)
    try:
        yield
    finally:
        keras.config.set_dtype_policy(before)
