"""From the config of a run to the run: data, model and settings, each made once."""

import functools
import time
from pathlib import Path
from typing import Any

import tensorflow as tf

from tf_adapt.config.checks import adaptation_of
from tf_adapt.config.reading import dump_config
from tf_adapt.config.sections import Config
from tf_adapt.data.batches import PreparedData, sorted_batches
from tf_adapt.encoder.feature_cache import reading_features, with_features
from tf_adapt.layers.head_inputs import head_inputs_of
from tf_adapt.models.adapted_model import AdaptedModel
from tf_adapt.models.multi_task_model import MultiTaskModel
from tf_adapt.models.signals.signal_annealing import SignalAnnealing
from tf_adapt.models.standardising import BATCH_SIZE, standardise
from tf_adapt.runs import run_folder
from tf_adapt.runs.interruption import Interruption
from tf_adapt.runs.slices import checked_members
from tf_adapt.training.kinds import KINDS
from tf_adapt.training.resolving import run_config
from tf_adapt.training.resolving.build import Parts, Settings, prepared, settings_of
from tf_adapt.training.resolving.compiled_model import precision
from tf_adapt.training.resolving.fold_features import with_fold_features
from tf_adapt.training.resolving.identity import run_identity
from tf_adapt.training.resolving.session import Session
from tf_adapt.training.resolving.warm_start import in_metrics, starting_run
from tf_adapt.training.results.finish import write_tasks
from tf_adapt.training.results.forgetting import source_task_of
from tf_adapt.training.run import Run
from tf_adapt.training.state import RunState, restore_state
from tf_adapt.training.teachers.teacher import Lesson, taught
from tf_adapt.training.teachers.teacher import in_metrics as in_metrics_of


def resolve(
    config: Config, folder: Path, strategy: tf.distribute.Strategy, writes: bool, session: Session
) -> Run:
    """The run of a config in its folder, begun or as its last checkpoint left it.

    Args:
        writes: whether this process writes the folder.
        session: what the trainings of a process share.

    Raises:
        ConfigError, DataError, ArtifactError: as `tf_adapt.training.train.train`.
    """
    start, started = starting_run(config, folder), time.monotonic()
    with precision(config.training.mixed_precision), strategy.scope():
        parts = session.parts(config, start)
        source_task = source_task_of(
            config.forgetting, config.encoder, adaptation_of(config.adaptation), parts.model.encoder
        )
        members = checked_members(config.slices, parts.splits, config.slice_heads)
    answers = None
    if config.teacher is not None:  # here, in float32 and on one device
        parts, answers = taught(lesson_of(config), parts, folder)
    model = parts.model
    with precision(config.training.mixed_precision), strategy.scope():
        settings = settings_of(config, parts)
        data = _with_features(config, parts, settings, folder, writes)
        with reading_features(*data.values()):
            standardise(model, sorted_batches(data["train"], BATCH_SIZE)[0])
        _anneal_signal(config, model, settings.plan.steps_per_epoch)
        identity = run_identity(config, parts, start, answers)
        state = _restored(folder, parts, data, settings, identity)
    if writes:
        run_config.start(folder, config)
        write_tasks(folder, model)
        if start is not None:
            start.copy_to(folder / run_folder.START)
        if answers is not None:
            answers.keep(folder)
    return Run(
        folder=folder,
        settings=settings,
        splits=parts.splits,
        data=data,
        model=model,
        ever_trained=parts.ever_trained,
        start=parts.start,
        slices=config.slices,
        members=members,
        teacher=None if answers is None else in_metrics_of(config.teacher, parts.splits, answers),
        started_from=None if start is None else in_metrics(config, model, start),
        source_task=source_task,
        state=state,
        interruption=Interruption(),
        writes=writes,
        started=started,
        tasks=parts.tasks,
        unlabelled=parts.unlabelled,
    )


def lesson_of(config: Config) -> Lesson:
    """How the run of a config with a teacher is taught."""
    training, cache = config.training, config.features.cache
    return Lesson(
        config.teacher, config.data, training.limits, None if cache is None else Path(cache)
    )


def description(config: Config, run: Run) -> tuple[str, dict[str, Any]]:
    """The config as text, and the hyperparameters, as TensorBoard shows them."""
    return dump_config(config), {
        "adaptation": config.adaptation.name,
        "encoder": config.encoder.handle + ("" if config.encoder.pretrained else " untrained"),
        "head": run.settings.head or config.objective,
        "learning_rate": config.training.learning_rate,
        "batch_size": config.training.batch_size,
        "epochs": config.training.epochs,
        "seed": config.training.seed,
    }


def _with_features(
    config: Config, parts: Parts, settings: Settings, folder: Path, writes: bool
) -> dict[str, PreparedData]:
    """The prepared data, with the outputs of an encoder that is frozen: they are the same in every
    epoch. Of several tasks the encoder is trained."""
    model, data = parts.model, parts.data
    if parts.tasks or model.encoder.trainable_groups:
        return data
    if KINDS[model.task.kind].head_encoder(model) is None:
        return data
    add = functools.partial(
        with_features,
        encoder=model.encoder,
        **dict(config.features),
        head_inputs=head_inputs_of(model.head),
        own_folder=None if settings.in_several_processes else folder / run_folder.FEATURES,
        progress=writes,
    )
    if parts.splits.pool:
        pool = prepared(config, parts.splits, model.encoder, parts.splits.pool)
        return with_fold_features(parts.splits, data, pool, add)
    return {split: add(of_split) for split, of_split in data.items()}


def _restored(
    folder: Path,
    parts: Parts,
    data: dict[str, PreparedData],
    settings: Settings,
    identity: dict[str, Any],
) -> RunState:
    """The state of the last checkpoint, or a new one; the model gets its values."""
    plan = settings.plan
    last = {"last_from": plan.last_from, "last_steps": plan.last_steps}
    state = RunState(identity, plan.steps_per_epoch, **last)
    if not parts.tasks:
        # Evaluating one batch creates the metrics' variables, before they are restored.
        dev, _ = sorted_batches(data["dev"], settings.batch_size)
        parts.model.evaluate(dev.take(1), verbose=0)
    return restore_state(folder / "checkpoint", state, parts.model)


def _anneal_signal(config: Config, model: AdaptedModel | MultiTaskModel, batches: int) -> None:
    section = config.auxiliary.consistency
    if section is not None and section.signal_annealing is not None:
        updates = config.training.epochs * -(-batches // (config.training.accumulate_steps or 1))
        model.signal_annealing = SignalAnnealing(model.task, section.signal_annealing, updates)
