"""One run: a config and a folder in, a trained model, its predictions and its scores out.

The same config, data, versions and device give the same weights, bit by bit, whether or not the
run was killed on the way: the order of the data is a function of (seed, epoch), and the states of
optimizer, dropout and metrics are saved with the weights.
"""

import contextlib
import functools
import math
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf

import tf_adapt
from tf_adapt import checkpoints, monitoring, run_folder
from tf_adapt.adaptation import Adaptation, Position
from tf_adapt.best_epoch import end_phase, keep_best
from tf_adapt.boundaries import layers_to_keep
from tf_adapt.compiling import compiled_model, penalised, precision
from tf_adapt.config import adaptation_of, resolve_paths
from tf_adapt.config_sections import Config
from tf_adapt.data.batches import (
    PreparedData,
    epoch_batches,
    epoch_order,
    prepare,
    sorted_batches,
)
from tf_adapt.data.splits import Splits, fingerprint, load_splits
from tf_adapt.devices import is_chief, make_strategy
from tf_adapt.encoder import HubEncoder
from tf_adapt.features import with_features
from tf_adapt.interruption import Interruption, caught_signals, leave
from tf_adapt.kept_states import KeptStates
from tf_adapt.memory import forget_peak
from tf_adapt.planning import planned_rate
from tf_adapt.reuse import Parts, Reuse
from tf_adapt.run_report import finish_run
from tf_adapt.run_state import RunState, restore_state, save_state
from tf_adapt.starting_point import StartingPoint
from tf_adapt.tasks import LOWER_IS_BETTER, Task
from tf_adapt.unfreezing import Unfreezing, groups_of

# XLA compiles a program for each shape; with this few lengths there are few of them.
LENGTH_STEP = 32


@dataclass
class Run:
    """The parts of one training at work.

    Attributes:
        best: `model` and `slots` after the best epoch, for a phase that is to begin with them; None
            where there is none to come, or they are on disk alone.
    """

    config: Config
    folder: Path
    model: keras.Model
    adaptation: Adaptation
    ever_trained: list[keras.Variable]
    data: dict[str, PreparedData]
    splits: Splits
    state: RunState
    interruption: Interruption
    writes: bool
    started: float
    start: StartingPoint | None
    best: dict[str, checkpoints.Arrays] | None = None
    kept: KeptStates | None = None


def train(config: Config, folder: str | Path, reuse: Reuse | None = None) -> dict[str, Any]:
    """Trains one model, or goes on with a run that was interrupted; returns `metrics.json`.

    The weights of the epoch with the best dev score are the result (the first of equals); with
    `patience` training ends after that many epochs without a better one, else all epochs run. A
    finished run is left as it is.

    Args:
        reuse: from run to run of one process: those that differ in seed and learning rate alone
            trace their steps once. The numbers stay the same.

    Raises:
        ConfigError, DataError, ArtifactError, TrainingError: what they say; the run folder then
            holds the last good checkpoint, or nothing.
        KeyboardInterrupt, SystemExit: after SIGINT or SIGTERM, once the state has been saved.
    """
    folder = Path(folder)
    config = resolve_paths(config)
    before = run_folder.saved_config(folder)
    if before is not None:
        run_folder.check_same_run(folder, before, config)
        metrics = run_folder.finished_metrics(folder)
        if metrics is not None and before.training.epochs == config.training.epochs:
            return metrics
    keras.utils.set_random_seed(config.training.seed)
    if config.encoder.execution != "saved_model" and not config.training.jit_compile:
        # A foreign module's own dropout is unseeded, which deterministic operations do not allow;
        # and under them Keras does not use XLA.
        tf.config.experimental.enable_op_determinism()
    strategy = make_strategy(config.training.devices, config.training.strategy)
    if reuse is not None:
        forget_peak()
    writes = is_chief(strategy)
    with run_folder.locked(folder) if writes else contextlib.nullcontext():
        run = _prepare_run(config, folder, strategy, writes, reuse or Reuse())
        _run_epochs(run)
        return finish_run(run)


def _prepare_run(
    config: Config,
    folder: Path,
    strategy: tf.distribute.Strategy,
    writes: bool,
    reuse: Reuse,
) -> Run:
    started = time.monotonic()
    with precision(config.training.mixed_precision), strategy.scope():
        parts = reuse.parts(config) or _build(config)
        reuse.keep(config, parts)
        splits, model, task, data = parts.splits, parts.model, parts.model.task, parts.data
        frozen = not (model.encoder.trainable_groups or model.auxiliaries or task.is_language_model)
        if frozen:  # the encoder says the same in every epoch
            data = {
                split: with_features(prepared, model.encoder, config.features, progress=writes)
                for split, prepared in data.items()
            }
        state = RunState(
            identity=_identity(splits, model.encoder),
            steps_per_epoch=len(_order(data["train"], config, epoch=0)),
        )
        # One batch is evaluated so that the metrics' variables exist before they are restored.
        dev, _ = sorted_batches(data["dev"], config.training.batch_size)
        model.evaluate(dev.take(1), verbose=0)
        state = restore_state(folder / "checkpoint", state, model)
    if writes:
        run_folder.start(folder, config)
        run_folder.write_task(
            folder, {"task": task.get_config(), "module": model.encoder.module_hash}
        )
    return Run(
        config,
        folder,
        model,
        adaptation_of(config.adaptation),
        parts.ever_trained,
        data,
        splits,
        state,
        Interruption(),
        writes,
        started,
        parts.start,
    )


def _build(config: Config) -> Parts:
    splits = load_splits(config.data)
    task = Task.of(splits)
    model = compiled_model(config, task)
    start = penalised(config, model)
    # No row is padded beyond the encoder's positions.
    length_step = math.gcd(LENGTH_STEP, model.encoder.max_length)
    data = {
        split: replace(
            prepare(examples, task, model.encoder, *config.training.limits),
            length_step=length_step if config.training.jit_compile else 1,
        )
        for split, examples in splits.examples.items()
    }
    return Parts(splits, model, model.trainable_weights, start, data)


def _run_epochs(run: Run) -> None:
    total = run.config.training.epochs * run.state.steps_per_epoch
    scalars = monitoring.Scalars(run.folder / "tensorboard", run.state, total, run.start)
    with (
        caught_signals() as run.interruption,
        monitoring.ProgressDisplay(run.state, total, shown=run.writes) as display,
        contextlib.closing(scalars),
    ):
        steps = _Steps(run)
        unfreezing = _unfreezing(run, display.say)
        if _can_keep_states(run):
            limit = run.config.features.limit_mb
            run.kept = KeptStates(run.model.encoder, limit, display.track)
        callbacks = [
            unfreezing,
            monitoring.LearningRate(_rate(run), run.state),
            monitoring.FiniteGuard(lambda: _describe_step(run)),
            steps,
            display,
            *([scalars] if run.writes else []),
        ]
        while run.state.epoch < run.config.training.epochs and not _is_stopped(run, unfreezing):
            _train_epoch(run, callbacks)
            _evaluate_epoch(run, steps, unfreezing)
            display.say(_line(run.state.history[-1]))
            if run.writes:
                scalars.write_row(run.state.history[-1])
                run_folder.write_history(run.folder, run.state.history)
    if run.writes and run.state.history:
        run_folder.write_history(run.folder, run.state.history)


def _rate(run: Run):
    groups = groups_of(run.model.encoder)
    return planned_rate(run.config, run.adaptation, groups, run.state.steps_per_epoch)


def _unfreezing(run: Run, say) -> Unfreezing:
    state = run.state
    unfreezing = Unfreezing(
        run.model.encoder, run.adaptation, monitor=None, step=lambda: state.global_step, say=say
    )
    unfreezing.position = Position(**state.position)
    return unfreezing


def _train_epoch(run: Run, callbacks: list) -> None:
    state, settings = run.state, run.config.training
    if state.step == state.steps_per_epoch:
        return  # interrupted in the evaluation after this epoch
    started = time.monotonic()
    # One call an epoch: what is left of an interrupted one is shorter than those that follow, and
    # Keras would take its length for theirs.
    history = run.model.fit(
        epoch_batches(
            _data(run, "train"), settings.batch_size, settings.seed, state.epoch, skip=state.step
        ),
        initial_epoch=state.epoch,
        epochs=state.epoch + 1,
        callbacks=callbacks,
        shuffle=False,
        verbose=0,
    ).history
    state.logs = monitoring.plain_numbers({name: values[-1] for name, values in history.items()})
    state.seconds["training"] += time.monotonic() - started


def _evaluate_epoch(run: Run, steps: "_Steps", unfreezing: Unfreezing) -> None:
    state, started = run.state, time.monotonic()
    dataset, _ = sorted_batches(_data(run, "dev"), run.config.training.batch_size)
    dev = run.model.evaluate(dataset, callbacks=[steps], return_dict=True, verbose=0)
    dev = monitoring.plain_numbers(dev)
    state.seconds["evaluation"] += time.monotonic() - started
    row = {
        "epoch": state.epoch + 1,
        "step": state.global_step,
        **state.logs,
        **{f"dev_{name}": value for name, value in dev.items()},
    }
    state.history = [*state.history, row]
    score = dev[run.model.task.metric]
    sign = -1 if run.model.task.metric in LOWER_IS_BETTER else 1
    if state.best is None or _comparable(score, sign) > _comparable(state.best["score"], sign):
        keep_best(run, unfreezing, score)
    end_phase(run, unfreezing)
    state.epoch, state.step, state.logs = state.epoch + 1, 0, None
    save_state(run.folder / "checkpoint", state, run.model, run.writes)
    run.interruption.unsaved = False
    if run.interruption.requested is not None:
        leave(run.interruption.requested)


def _can_keep_states(run: Run) -> bool:
    """Whether the encoder learns in some phase, and only the head reads it, the top layer alone."""
    model = run.model
    return (
        run.start is not None
        and model.encoder.execution == "native"
        and run.config.training.strategy is None
        and not (model.auxiliaries or model.task.is_language_model)
    )


def _data(run: Run, split: str) -> PreparedData:
    """The data of a split for this epoch, with the states of what stays frozen where they pay."""
    if run.kept is None:
        return run.data[split]
    state, encoder = run.state, run.model.encoder
    layers = functools.partial(
        layers_to_keep,
        run.adaptation,
        groups_of(encoder),
        encoder.layer_names,
        run.config.training.epochs,
        state.steps_per_epoch,
        state.epoch,
        state.position["phase"],
    )
    return run.kept.data(split, run.data[split], layers, state.epoch)


class _Steps(keras.callbacks.Callback):
    """Counts the steps, restores the metrics of a broken epoch, and obeys signals between steps."""

    def __init__(self, run: Run):
        super().__init__()
        self.run = run
        # `fit` resets the metrics when it begins an epoch, also one that it goes on with.
        goes_on = 0 < run.state.step < run.state.steps_per_epoch
        self.metrics_before = (
            checkpoints.to_arrays(run.model.metrics_variables) if goes_on else None
        )

    def on_epoch_begin(self, epoch, logs=None):
        if self.metrics_before is not None:
            variables = self.run.model.metrics_variables
            checkpoints.assign(variables, self.metrics_before, "metrics")
            self.metrics_before = None

    def on_train_batch_end(self, batch, logs=None):
        state = self.run.state
        state.step += 1
        # Several processes cannot agree on a step to stop after: they go back to the last epoch.
        self.run.interruption.unsaved = self.run.config.training.strategy is None
        if state.step < state.steps_per_epoch:  # after the last one, the epoch's logs come first
            self._obey()

    def on_test_batch_end(self, batch, logs=None):
        self._obey()

    def _obey(self) -> None:
        if self.run.interruption.requested is not None:
            run = self.run
            save_state(run.folder / "checkpoint", run.state, run.model, run.writes)
            leave(run.interruption.requested)


def _is_stopped(run: Run, unfreezing: Unfreezing) -> bool:
    """Whether the dev score has not become better for too long, in the last phase."""
    patience, best = run.config.training.patience, run.state.best
    if patience is None or best is None:
        return False
    position = unfreezing.position.at(unfreezing.phases, _time(run))
    if position.phase < len(unfreezing.phases) - 1:
        return False
    steps = 1 if run.adaptation.unit == "epochs" else run.state.steps_per_epoch
    since = math.ceil(position.since / steps)  # the first whole epoch of the last phase
    return run.state.epoch - 1 - max(best["epoch"], since - 1) >= patience


def _time(run: Run) -> int:
    return run.state.epoch if run.adaptation.unit == "epochs" else run.state.global_step


def _comparable(score: float | None, sign: int = 1) -> float:
    """A score that is not a finite number is worse than any other; sign −1: lower is better."""
    return -math.inf if score is None else sign * score


def _order(prepared: PreparedData, config: Config, epoch: int) -> list:
    settings = config.training
    return epoch_order(prepared.lengths, settings.batch_size, settings.seed, epoch)


def _describe_step(run: Run) -> str:
    prepared = run.data["train"]
    batch = _order(prepared, run.config, run.state.epoch)[run.state.step]
    if prepared.sentence_splits is not None:  # parts of long sentences stand for their sentences
        first_words = prepared.segments[0].row_splits.numpy()[batch]
        batch = np.searchsorted(prepared.sentence_splits, first_words, side="right") - 1
    places = [run.splits.examples["train"][index].where for index in batch]
    return f"step {run.state.global_step + 1}, examples {', '.join(places)}"


def _identity(splits: Splits, encoder: HubEncoder) -> dict[str, Any]:
    return {
        "tf_adapt": tf_adapt.__version__,
        "tensorflow": tf.__version__,
        "keras": keras.__version__,
        "module": encoder.module_hash,
        "labels": splits.labels,
        "train data": fingerprint(splits.examples["train"]),
        "dev data": fingerprint(splits.examples["dev"]),
    }


def _line(row: dict[str, Any]) -> str:
    shown = {name: value for name, value in row.items() if name not in ("epoch", "step")}
    return f"epoch {row['epoch']}: " + ", ".join(
        f"{name} {'undefined' if value is None else f'{value:.4f}'}"
        for name, value in shown.items()
    )
