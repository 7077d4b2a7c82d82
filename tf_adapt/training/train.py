"""Trains one run: a config → a run folder with the model, its predictions and its scores.

The same config, data, versions and device give bitwise the same weights, even if the run is killed
and resumed: the order of the data is a function of (seed, epoch), and the states of optimizer,
dropout and metrics are saved with the weights.
"""

import contextlib
import gc
import hashlib
import shutil
import time
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from hub_modules.load import runs_natively
from tf_adapt.config.reading import dump_config, resolve_paths, start_config, with_data
from tf_adapt.config.sections import Config
from tf_adapt.data.batches import PreparedData, sorted_batches
from tf_adapt.data.own_files import recognised
from tf_adapt.data.splits.read_splits import Splits
from tf_adapt.encoder.feature_cache import reading_features, with_features
from tf_adapt.errors import ConfigError
from tf_adapt.layers.head_inputs import head_inputs_of
from tf_adapt.models.adapted_model import AdaptedModel
from tf_adapt.models.multi_task_model import MultiTaskModel
from tf_adapt.models.signal_annealing import SignalAnnealing
from tf_adapt.runs import run_folder
from tf_adapt.runs.ensemble_folder import ENSEMBLE
from tf_adapt.runs.finished_run import FinishedRun, module_in_words, module_of
from tf_adapt.runs.interruption import Interruption
from tf_adapt.runs.slices import checked_members
from tf_adapt.runs.teacher_answers import Answers
from tf_adapt.runs.teachers import KEY as TEACHER_KEY
from tf_adapt.training.epochs import run_epochs
from tf_adapt.training.finished.same_data import by_prefix, check_unchanged, data_hashes
from tf_adapt.training.kinds import KINDS
from tf_adapt.training.resolving.build import Parts, settings_of
from tf_adapt.training.resolving.compiled_model import precision
from tf_adapt.training.resolving.configured_splits import splits_of
from tf_adapt.training.resolving.devices import is_chief, make_strategy
from tf_adapt.training.resolving.input_hashes import input_hashes
from tf_adapt.training.resolving.warm_start import in_metrics, starting_run
from tf_adapt.training.results.finish import finish_run, write_tasks
from tf_adapt.training.results.forgetting import source_task_of
from tf_adapt.training.results.memory import forget_peak
from tf_adapt.training.results.slices import score_again
from tf_adapt.training.run import Run
from tf_adapt.training.session import Session
from tf_adapt.training.state import RunState, restore_state
from tf_adapt.training.teachers.teacher import in_metrics as in_metrics_of
from tf_adapt.training.teachers.teacher import taught
from tf_adapt.version import __version__


def train(config: Config, folder: str | Path, session: Session | None = None) -> dict[str, Any]:
    """Trains one model, or resumes an interrupted run; returns the content of `metrics.json`.

    The result is the weights of the epoch with the best dev score (the first of equals). With
    `patience` training ends after that many epochs without a better score, else after all epochs.
    A finished run is not changed, except that other slices are scored on its predictions. With
    `start.config` the run in `folder/start` is trained, or resumed, first.

    Args:
        session: shared by the trainings of a process: those that differ only in seed and learning
            rate are traced once, with the same results.

    Raises:
        ConfigError, DataError, ArtifactError: config, data, module or run folder are invalid, or
            do not fit each other.
        TrainingError: a loss or a gradient is not finite; the last checkpoint stays valid.
        KeyboardInterrupt, SystemExit: after SIGINT or SIGTERM, once the state has been saved.
    """
    folder = Path(folder)
    config = with_data(resolve_paths(config), recognised)
    before = run_folder.saved_config(folder)
    if before is not None and (folder / ENSEMBLE).is_file():
        raise ConfigError(
            f"{folder}: expected the folder of a training, got the average of the weights of "
            "several runs, which does not go on; choose another --out"
        )
    if before is not None:
        run_folder.check_same_run(folder, before, config)
        metrics = run_folder.finished_metrics(folder)
        if metrics is not None and before.training.epochs == config.training.epochs:
            run_folder.check_finished(folder, metrics)
            check_unchanged(folder, config)
            shutil.rmtree(folder / run_folder.FEATURES, ignore_errors=True)
            if before.slices == config.slices:
                return metrics
            with run_folder.locked(folder):
                return score_again(folder, config, metrics)
    if config.start is not None and config.start.config is not None:
        _train_first(config, folder)
    keras.utils.set_random_seed(config.training.seed)
    if _may_be_deterministic(config):
        tf.config.experimental.enable_op_determinism()
    strategy = make_strategy(config.training.devices, config.training.strategy)
    if session is not None:
        forget_peak()
    writes = is_chief(strategy)
    with run_folder.locked(folder) if writes else contextlib.nullcontext():
        start = starting_run(config, folder)
        run = _prepared_run(config, folder, strategy, writes, session or Session(), start)
        about = dump_config(config), _hyperparameters(config, run)
        run_epochs(run, lambda scalars: scalars.describe(*about))
        with reading_features(*run.data.values()):
            metrics = finish_run(run)
        if writes:
            shutil.rmtree(folder / run_folder.FEATURES, ignore_errors=True)
        return metrics


def _train_first(config: Config, folder: Path) -> None:
    """Trains the run that another starts from, in its folder; the config of one that is finished
    may be gone.

    Raises:
        ConfigError: that run was begun with another config, cannot be trained in one process with
            this one, or has another module; as `start_config`.
        TfAdaptError: as `train`.
    """
    path, place = config.start.config, folder / run_folder.START
    with run_folder.locked(folder):
        before = run_folder.saved_config(place)
        finished = before is not None and run_folder.finished_metrics(place) is not None
        if finished and not Path(path).exists():
            return
        first = with_data(start_config(path), recognised)
        changed = {} if before is None else run_folder.changed_keys(before, first)
        if changed:
            raise ConfigError(
                f"start.config: {path} is another config than when {place} was begun: "
                f"{', '.join(changed.values())}; bring it back, or choose another --out"
            )
        if finished:
            return
        _check_one_process(config, first)
        if module_of(first.encoder) != module_of(config.encoder):
            raise ConfigError(
                f"start.config: expected a run on {module_in_words(config.encoder)}, as "
                f"encoder.handle says, got {path} on {module_in_words(first.encoder)}; set "
                "encoder.handle and encoder.keep_layers to those of that config"
            )
        splits_of(config)  # what is wrong with the data is said before hours of training
        train(first, place)
    gc.collect()  # a model has reference cycles
    forget_peak()


def _check_one_process(config: Config, first: Config) -> None:
    """Checks that what a process decides once is the same for both runs."""
    for key in ("devices", "strategy", "jit_compile"):
        expected, got = getattr(config.training, key), getattr(first.training, key)
        if expected != got:
            raise ConfigError(
                f"start.config: training.{key}: expected {expected} as in the run that starts from "
                f"it, for both are trained in one process, got {got} in {config.start.config}; "
                "train it by itself, and name its folder in start.run"
            )


def _may_be_deterministic(config: Config) -> bool:
    # Deterministic operations refuse the unseeded dropout of a program that is tuned, and Keras
    # does not use XLA with them.
    encoder, adaptation = config.encoder, config.adaptation.name
    if config.training.jit_compile or encoder.execution == "saved_model":
        return False
    frozen = adaptation == "feature_extraction"
    return frozen or runs_natively(encoder.handle, encoder.execution)


def _prepared_run(
    config: Config,
    folder: Path,
    strategy: tf.distribute.Strategy,
    writes: bool,
    session: Session,
    start: FinishedRun | None,
) -> Run:
    started = time.monotonic()
    with precision(config.training.mixed_precision), strategy.scope():
        parts = session.parts(config, start)
        source_task = source_task_of(config, parts.model.encoder)
        members = checked_members(config.slices, parts.splits, config.slice_heads)
    answers = None
    if config.teacher is not None:  # here, in float32 and on one device
        parts, answers = taught(config, parts, folder)
    with precision(config.training.mixed_precision), strategy.scope():
        model, data = parts.model, parts.data
        settings = settings_of(config, parts)
        # Of several tasks the encoder is trained.
        trained = parts.tasks or model.encoder.trainable_groups
        if not trained and KINDS[model.task.kind].head_encoder(model) is not None:
            # A frozen encoder has the same outputs in every epoch.
            own_folder = folder / run_folder.FEATURES
            data = {
                split: with_features(
                    prepared,
                    model.encoder,
                    **dict(config.features),
                    reads=head_inputs_of(model.head),
                    own_folder=None if settings.in_several_processes else own_folder,
                    progress=writes,
                )
                for split, prepared in data.items()
            }
        plan = settings.plan
        _anneal_signal(config, model, plan.steps_per_epoch)
        last = {"last_from": plan.last_from, "last_steps": plan.last_steps}
        identity = _identity(config, parts, start, answers)
        state = RunState(identity, plan.steps_per_epoch, **last)
        if not parts.tasks:
            # Evaluating one batch creates the metrics' variables, before they are restored.
            dev, _ = sorted_batches(data["dev"], settings.batch_size)
            model.evaluate(dev.take(1), verbose=0)
        state = restore_state(folder / "checkpoint", state, model)
    if writes:
        run_folder.start(folder, config)
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
        teacher=None if answers is None else in_metrics_of(config, parts.splits, answers),
        started_from=None if start is None else in_metrics(config, model, start),
        source_task=source_task,
        state=state,
        interruption=Interruption(),
        writes=writes,
        started=started,
        tasks=parts.tasks,
        unlabelled=parts.unlabelled,
    )


def _anneal_signal(config: Config, model: AdaptedModel | MultiTaskModel, batches: int) -> None:
    section = config.auxiliary.consistency
    if section is not None and section.signal_annealing is not None:
        updates = config.training.epochs * -(-batches // (config.training.accumulate_steps or 1))
        model.signal_annealing = SignalAnnealing(model.task, section.signal_annealing, updates)


def _hyperparameters(config: Config, run: Run) -> dict[str, Any]:
    """The hyperparameters shown in TensorBoard."""
    return {
        "adaptation": config.adaptation.name,
        "encoder": config.encoder.handle + ("" if config.encoder.pretrained else " untrained"),
        "head": run.settings.head or config.objective,
        "learning_rate": config.training.learning_rate,
        "batch_size": config.training.batch_size,
        "epochs": config.training.epochs,
        "seed": config.training.seed,
    }


def _weak_identity(splits: Splits) -> dict[str, str]:
    """The hash of the probabilities that train's labels have, if they come from votes."""
    if splits.weak is None:
        return {}
    posteriors = np.array(splits.weak.posteriors, "float32")
    return {"weak labels": hashlib.sha256(posteriors.tobytes()).hexdigest()}


def _slice_identity(train: PreparedData) -> dict[str, str]:
    """The hash of what the heads of slices are trained on, if there are any."""
    if train.slice_targets is None:
        return {}
    return {"slices of train": hashlib.sha256(train.slice_targets.numpy().tobytes()).hexdigest()}


def _identity(
    config: Config, parts: Parts, start: FinishedRun | None, answers: Answers | None
) -> dict[str, Any]:
    several = {name: part.splits for name, part in parts.tasks.items()}
    tasks = by_prefix(several or parts.splits)
    return {
        "tf_adapt": __version__,
        "tensorflow": tf.__version__,
        "keras": keras.__version__,
        **input_hashes(config),
        **({} if start is None else {config.start.key: start.weights}),
        **({} if answers is None else {TEACHER_KEY: answers.teacher}),
        **_weak_identity(parts.splits),
        **_slice_identity(parts.data["train"]),
        # Their order is that of the heads' weights.
        **({"tasks": list(parts.tasks)} if parts.tasks else {}),
        **{f"{task}labels": splits.labels for task, splits in tasks.items()},
        **{
            key: value
            for task, splits in tasks.items()
            for key, value in data_hashes(splits, task).items()
        },
    }
