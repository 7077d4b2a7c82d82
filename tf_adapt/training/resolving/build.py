"""From the config of a run to its parts. Layers below `training` take values, not configs."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import keras
import numpy as np
import tensorflow as tf

from tf_adapt.adaptation.phases import Adaptation
from tf_adapt.adaptation.schedules import (
    Constant,
    CosineDecay,
    LinearDecay,
    Schedule,
    SlantedTriangular,
)
from tf_adapt.adaptation.unfreezing import group_names
from tf_adapt.config.checks import adaptation_of
from tf_adapt.config.sections import Config
from tf_adapt.data.batches import PreparedData, prepare
from tf_adapt.data.consistency_batches import Unlabelled
from tf_adapt.data.multi_task_batches import TaskOrder
from tf_adapt.data.packing.prepare import task_of
from tf_adapt.data.splits.read_splits import Splits
from tf_adapt.encoder.hub_encoder import HubEncoder
from tf_adapt.encoder.starting_point import StartingPoint
from tf_adapt.errors import ConfigError
from tf_adapt.models.adapted_model import AdaptedModel
from tf_adapt.models.multi_task_model import MultiTaskModel
from tf_adapt.runs.finished_run import FinishedRun
from tf_adapt.runs.slices import Members, training_members
from tf_adapt.training.kinds import KINDS
from tf_adapt.training.plan import Plan
from tf_adapt.training.resolving.compiled_model import penalised
from tf_adapt.training.resolving.configured_splits import splits_of, tasks_of
from tf_adapt.training.resolving.warm_start import started_model
from tf_adapt.training.resolving.weighed_labels import weigh_labels
from tf_adapt.training.teachers.unlabelled import unlabelled_of

PROPORTIONAL = "proportional"
# XLA compiles a program for each shape: lengths are rounded up to multiples of this.
LENGTH_STEP = 32


@dataclass(frozen=True)
class TaskParts:
    """One of several tasks of a run.

    Attributes:
        head, reads: its name, and what it reads.
        data: the prepared splits.
    """

    splits: Splits
    model: AdaptedModel
    head: str
    reads: str
    data: dict[str, PreparedData]


@dataclass(frozen=True)
class Parts:
    """What runs share that differ only in seed and learning rate.

    Attributes:
        splits, data: of the task; of several tasks those of the target.
        ever_trained: the weights that are trained in any phase.
        start: copies of the encoder's weights before training, if any are trainable.
        data: the prepared splits, without features of a frozen encoder.
        tasks: the parts of several tasks by name; empty for one task.
        unlabelled: texts for consistency, or None.
    """

    splits: Splits
    model: AdaptedModel | MultiTaskModel
    ever_trained: list[keras.Variable]
    start: StartingPoint | None
    data: dict[str, PreparedData]
    tasks: dict[str, TaskParts] = field(default_factory=dict)
    unlabelled: Unlabelled | None = None


@dataclass(frozen=True)
class Settings:
    """The values of a config that the epochs of a run and its report need.

    Attributes:
        encoder, head: names; the head is None for a language model.
        reads: what the head reads of the encoder, as a phrase.
        plan: which groups are trained when, and at what rate.
        patience: epochs without a better dev score that end the run.
        stop_below: by epoch, the dev score that the best so far must reach for the run to go on;
            None: any.
        limit_mb, disk_limit_mb: most megabytes of kept outputs of frozen layers, in memory and on
            disk.
        features_dtype: that they are kept in.
        in_several_processes: whether several processes train the same model.
        score: name of the dev score that selects the epoch.
        order: which of several tasks each step trains.
    """

    adaptation: Adaptation
    encoder: str
    head: str | None
    reads: str | None
    plan: Plan
    epochs: int
    batch_size: int
    seed: int
    patience: int | None
    stop_below: tuple[float | None, ...]
    limit_mb: int
    disk_limit_mb: int
    features_dtype: str
    choose_thresholds: bool
    in_several_processes: bool
    score: str
    order: TaskOrder | None = None


def build_parts(config: Config, start: FinishedRun | None = None) -> Parts:
    """Reads the data and builds the model of a run.

    Args:
        start: as in `started_model`.

    Raises:
        ConfigError: the config does not fit the data or the module.
        DataError: the data cannot be read or are invalid, or an example is too long.
        ArtifactError: the module or the Fisher information is missing or damaged.
    """
    if config.tasks is not None:
        return _parts_of_tasks(config, start)
    splits = splits_of(config)
    _check_threshold(config, splits)
    model = started_model(config, task_of(splits), start)
    anchor = penalised(config.penalties, model)
    data = prepared_splits(config, splits, model.encoder)
    weigh_labels(config, model, data["train"])
    if splits.weak is not None:
        soft_labels = tf.constant(splits.weak.posteriors, tf.float32)
        data["train"] = replace(data["train"], soft_labels=soft_labels)
    if config.slice_heads:
        members = training_members(config.slices, splits)
        data["train"] = replace(data["train"], slice_targets=_slice_targets(data["train"], members))
    unlabelled = unlabelled_of(
        config.auxiliary.consistency, config.data, config.training.limits, model.task, model.encoder
    )
    return Parts(splits, model, model.trainable_weights, anchor, data, unlabelled=unlabelled)


def _check_threshold(config: Config, splits: Splits) -> None:
    always = splits.spans is not None and splits.spans.no_answer_threshold is None
    if config.training.choose_thresholds and always:
        raise ConfigError(
            "training.choose_thresholds: expected false, for every question of train has an "
            "answer, got true"
        )


def _slice_targets(train: PreparedData, members: Members) -> tf.Tensor:
    targets = train.targets.numpy()
    columns = [np.where(mask, targets, -1) for mask in members.values()]
    return tf.constant(np.stack(columns, axis=1), tf.int32)


def _parts_of_tasks(config: Config, start: FinishedRun | None) -> Parts:
    splits = splits_of(config)
    model = started_model(config, tasks_of(splits), start)
    anchor = penalised(config.penalties, model)
    learning = model.trainable_weights
    tasks = {
        name: TaskParts(
            of_task,
            model.models[name],
            *head_of(config.of_task(name), model.models[name], learning),
            prepared_splits(config, of_task, model.encoder),
        )
        for name, of_task in splits.items()
    }
    target = tasks[config.target]
    return Parts(target.splits, model, learning, anchor, target.data, tasks)


def prepared_splits(config: Config, splits: Splits, encoder: HubEncoder) -> dict[str, PreparedData]:
    """The prepared examples of each split; see `prepared`."""
    return {
        split: prepared(config, splits, encoder, examples)
        for split, examples in splits.examples.items()
    }


def prepared(
    config: Config, splits: Splits, encoder: HubEncoder, examples: Sequence
) -> PreparedData:
    """Examples as a run reads them.

    Raises:
        DataError: as `prepare`.
    """
    # A divisor of `max_length`, so that no row is padded beyond it.
    length_step = math.gcd(LENGTH_STEP, encoder.max_length)
    given = *config.training.limits, splits.memory_mb
    prepared_examples = prepare(examples, task_of(splits), encoder, *given)
    step = length_step if config.training.jit_compile else 1
    return replace(prepared_examples, length_step=step)


def settings_of(config: Config, parts: Parts) -> Settings:
    """The `Settings` of a config for a run with these parts."""
    training, model = config.training, parts.model
    groups = group_names(model.encoder)
    if parts.tasks:
        lengths = {name: part.data["train"].lengths for name, part in parts.tasks.items()}
        order = order_of(config, lengths)
        plan = plan_of(config, groups, order.steps_of(0), order.steps_of(training.epochs))
        head, reads = (
            ", ".join(f"{name}: {getattr(part, key)}" for name, part in parts.tasks.items())
            for key in ("head", "reads")
        )
        score = f"{config.target}/{parts.tasks[config.target].model.task.metric}"
    else:
        batches = model.epoch_order(
            parts.data["train"], training.batch_size, training.seed, epoch=0
        )
        order, plan = None, plan_of(config, groups, len(batches))
        head, reads = head_of(config, model, parts.ever_trained)
        score = model.task.metric
    return Settings(
        adaptation=adaptation_of(config.adaptation),
        encoder=config.encoder.handle,
        head=head,
        reads=reads,
        plan=plan,
        epochs=training.epochs,
        batch_size=training.batch_size,
        seed=training.seed,
        patience=training.patience,
        stop_below=tuple(training.stop_below or ()),
        limit_mb=config.features.limit_mb,
        disk_limit_mb=config.features.disk_limit_mb,
        features_dtype=config.features.dtype,
        choose_thresholds=training.choose_thresholds,
        in_several_processes=training.strategy is not None,
        score=score,
        order=order,
    )


def order_of(config: Config, lengths: dict[str, np.ndarray]) -> TaskOrder:
    """Which of several tasks each step of a run trains.

    Args:
        lengths: task → tokens of each of its training examples.
    """
    training = config.training
    return TaskOrder(
        lengths,
        training.batch_size,
        training.seed,
        config.sampling or PROPORTIONAL,
        training.epochs - training.target_epochs,
        training.steps_per_epoch,
        training.accumulate_steps or 1,
        config.target if training.target_epochs else None,
    )


def head_of(
    config: Config, model: AdaptedModel, ever_trained: list
) -> tuple[str | None, str | None]:
    """The name of a model's head, and what it reads as a phrase; None for a language model."""
    learning = {id(weight) for weight in ever_trained}
    frozen = not any(id(weight) in learning for weight in model.encoder.weights)
    row, where = KINDS[model.task.kind], (model.task, model.encoder.family, frozen)
    return row.head_name(config.head, *where), row.head_reads(
        config.reading_of_head | model.chosen_reading, *where
    )


def plan_of(
    config: Config, groups: list[str], steps_per_epoch: int, target_steps: int | None = None
) -> Plan:
    """The plan of a run on a model with these groups, bottom to top.

    Args:
        target_steps: steps of the last epochs, on the target of several tasks.
    """
    warmup, named = config.training.warmup, config.schedule

    def schedule(total: int, factor: float) -> Schedule:
        peak = factor * config.training.learning_rate
        match named.name:
            case "slanted_triangular":
                return SlantedTriangular(peak, total, warmup, named.ratio, named.denominator)
            case "cosine_decay":
                return CosineDecay(peak, total, round(warmup * total))
            case "constant":
                return Constant(peak, round(warmup * total))
            case _:
                return LinearDecay(peak, total, round(warmup * total))

    training = config.training
    last = (training.epochs - training.target_epochs, target_steps)
    return Plan(
        adaptation_of(config.adaptation),
        tuple(groups),
        training.epochs,
        steps_per_epoch,
        schedule,
        named.per_phase,
        named.first_phase,
        *(last if training.target_epochs else ()),
    )
