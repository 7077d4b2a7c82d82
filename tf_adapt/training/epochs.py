"""The epochs of a run: train, evaluate, keep the best weights, save a checkpoint."""

import contextlib
import functools
import math
import time
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import numpy as np
import tensorflow as tf

from tf_adapt.adaptation.frozen_layers import layers_to_keep
from tf_adapt.adaptation.phases import Position
from tf_adapt.adaptation.unfreezing import Unfreezing
from tf_adapt.data.batches import PreparedData
from tf_adapt.data.consistency_batches import epoch_with_unlabelled
from tf_adapt.data.multi_task_batches import all_batches, batches_of_steps
from tf_adapt.encoder.cached_activations import KeptStates
from tf_adapt.encoder.feature_cache import reading_features
from tf_adapt.layers.head_inputs import head_inputs_of
from tf_adapt.runs import run_folder
from tf_adapt.runs.interruption import leave
from tf_adapt.tasks.task import LOWER_IS_BETTER
from tf_adapt.training import callbacks
from tf_adapt.training.best_epoch import BestOnDisk, comparable
from tf_adapt.training.event_files import Scalars
from tf_adapt.training.kinds import KINDS
from tf_adapt.training.run import Run
from tf_adapt.training.state import save_state
from tf_adapt.training.steps import Steps


def run_epochs(run: Run, describe: Callable[[Scalars], None]) -> None:
    """Trains until the last epoch, or until patience runs out or the score is too low.

    Args:
        describe: writes config and hyperparameters for TensorBoard.

    Raises:
        TrainingError: a loss or a gradient is not finite.
        ArtifactError: the run folder cannot be written, or features on disk cannot be read.
        KeyboardInterrupt, SystemExit: after SIGINT or SIGTERM, once the state has been saved.
    """
    state, settings = run.state, run.settings
    total = settings.plan.steps
    scalars = Scalars(run.folder / "tensorboard", state, total, run.start)
    with (
        run.interruption,
        callbacks.ProgressDisplay(state, total, shown=run.writes) as display,
        contextlib.closing(scalars),
    ):
        if run.writes:
            describe(scalars)
        steps = Steps(run)
        unfreezing = _unfreezing(run, display.say)
        kept = _kept_states(run, display)
        watching = [
            unfreezing,
            callbacks.LearningRate(settings.plan.rate, state),
            callbacks.FiniteGuard(lambda: _describe_step(run)),
            steps,
            display,
            *([scalars] if run.writes else []),
        ]
        while state.epoch < settings.epochs and not _is_stopped(run, unfreezing):
            _train_epoch(run, kept, watching)
            _evaluate_epoch(run, kept, steps, unfreezing)
            display.say(_line(state.history[-1]))
            if run.writes:
                scalars.write_row(state.history[-1], {settings.score: state.best["score"]})
                run_folder.write_history(run.folder, state.history)
    if run.writes and state.history:
        run_folder.write_history(run.folder, state.history)


def _unfreezing(run: Run, say: Callable[[str], None]) -> Unfreezing:
    state = run.state
    unfreezing = Unfreezing(
        run.model.encoder,
        run.settings.adaptation,
        monitor=None,
        step=lambda: state.global_step,
        say=say,
        best=BestOnDisk(run.checkpoints, state, _sign(run), run.writes),
    )
    # In an epoch whose evaluation alone is left, no `fit` does it.
    unfreezing.set_model(run.model)
    unfreezing.position = Position(**state.position)
    return unfreezing


def _sign(run: Run) -> int:
    return -1 if run.settings.score in LOWER_IS_BETTER else 1


def _train_epoch(run: Run, kept: KeptStates | None, watching: list) -> None:
    state = run.state
    if state.step == state.steps_of_epoch:
        return  # the run was interrupted in the evaluation after this epoch
    started = time.monotonic()
    # One call per epoch: the rest of an interrupted epoch is shorter, and Keras would take its
    # length for that of all following epochs.
    data = None if run.tasks else _data(run, kept, "train")
    with _reading(data):
        history = run.model.fit(
            _train_batches(run, data),
            initial_epoch=state.epoch,
            epochs=state.epoch + 1,
            callbacks=watching,
            shuffle=False,
            verbose=0,
        ).history
    logs = {name: values[-1] for name, values in history.items()}
    if run.start is not None:  # of the last step: a mean would need a state to resume from
        logs[run_folder.ENCODER_GRADIENT] = run.model.encoder_share.value.numpy()
    state.logs = callbacks.plain_numbers(logs)
    state.seconds["training"] += time.monotonic() - started


def _reading(data: PreparedData | None) -> contextlib.AbstractContextManager:
    """`reading_features` of the data of a run; several tasks cache none."""
    return contextlib.nullcontext() if data is None else reading_features(data)


def _train_batches(run: Run, data: PreparedData | None) -> tf.data.Dataset:
    """The batches of the current epoch from the current step on."""
    state, settings = run.state, run.settings
    if run.tasks:
        train = {name: part.data["train"] for name, part in run.tasks.items()}
        steps = settings.order.epoch(state.epoch)[state.step :]
        return batches_of_steps(train, steps, list(run.tasks))
    place = (settings.batch_size, settings.seed, state.epoch, state.step)
    if run.unlabelled is not None:
        return epoch_with_unlabelled(data, run.unlabelled, *place)
    return run.model.epoch_batches(data, *place)


def _evaluated(run: Run, data: PreparedData | None, steps: Steps) -> dict[str, float]:
    """The scores on dev, of several tasks by their names."""
    size = run.settings.batch_size
    if run.tasks:
        dev = {name: part.data["dev"] for name, part in run.tasks.items()}
        dataset = all_batches(dev, size, list(run.tasks))
        return run.model.evaluate(dataset, callbacks=[steps], return_dict=True, verbose=0)
    row, examples = KINDS[run.model.task.kind], run.splits.examples["dev"]
    return row.evaluated(run.model, data, examples, size, [steps])


def _evaluate_epoch(
    run: Run, kept: KeptStates | None, steps: Steps, unfreezing: Unfreezing
) -> None:
    state, started = run.state, time.monotonic()
    run.model.end_epoch(run.data["train"])
    data = None if run.tasks else _data(run, kept, "dev")
    with _reading(data):
        dev = _evaluated(run, data, steps)
    dev = callbacks.plain_numbers(dev)
    state.seconds["evaluation"] += time.monotonic() - started
    row = {
        "epoch": state.epoch + 1,
        "step": state.global_step,
        **state.logs,
        **{f"dev_{name}": value for name, value in dev.items()},
    }
    state.history = [*state.history, row]
    score = comparable(dev[run.settings.score], _sign(run))
    if unfreezing.end_epoch(state.epoch, score):
        # Saved with this epoch's checkpoint: a resumed run begins the next phase from there.
        state.position = asdict(unfreezing.position)
        if kept is not None:
            kept.weights_restored(state.best["epoch"])
    state.epoch, state.step, state.logs = state.epoch + 1, 0, None
    save_state(run.checkpoints, state, run.model, run.writes)
    run.interruption.unsaved = False
    if run.interruption.requested is not None:
        leave(run.interruption.requested)


def _kept_states(run: Run, display: callbacks.ProgressDisplay) -> KeptStates | None:
    """A cache of hidden states, or None if epochs cannot start from a layer's hidden states.

    It needs a native encoder that is trained in some phase and reads no windows, one process, one
    task, a head that reads none of the layers below (a mix reads all), and no auxiliary loss or
    language model, which run the encoder on the texts.
    """
    model = run.model
    if (
        run.start is None
        or run.tasks
        or model.encoder.execution != "native"
        or model.encoder.long is not None
        or run.settings.in_several_processes
        or KINDS[model.task.kind].head_encoder(model) is None
        or head_inputs_of(model.head).layers == "all"
    ):
        return None
    return KeptStates(
        model.encoder,
        run.settings.limit_mb,
        display.track,
        run.settings.disk_limit_mb,
        run.settings.features_dtype,
        run.folder / run_folder.FEATURES,
    )


def _data(run: Run, kept: KeptStates | None, split: str) -> PreparedData:
    """The data of a split for this epoch, with cached hidden states where that saves time."""
    if kept is None:
        return run.data[split]
    state, plan = run.state, run.settings.plan
    layers = functools.partial(
        layers_to_keep,
        plan.adaptation,
        plan.groups,
        run.model.encoder.layer_names,
        plan.epochs,
        state.steps_per_epoch,
        state.epoch,
        state.position["phase"],
    )
    return kept.data(split, run.data[split], layers, state.epoch)


def _is_stopped(run: Run, unfreezing: Unfreezing) -> bool:
    """Whether patience has run out in the last phase, or the best score so far is too low."""
    if _is_too_low(run):
        return True
    state, patience, unit = run.state, run.settings.patience, run.settings.adaptation.unit
    if patience is None or state.best is None:
        return False
    time = state.epoch if unit == "epochs" else state.global_step
    position = unfreezing.position.at(unfreezing.phases, time)
    if position.phase < len(unfreezing.phases) - 1:
        return False
    steps = 1 if unit == "epochs" else state.steps_per_epoch
    since = math.ceil(position.since / steps)  # the first whole epoch of the last phase
    return state.epoch - 1 - max(state.best["epoch"], since - 1) >= patience


def _is_too_low(run: Run) -> bool:
    state, limits = run.state, run.settings.stop_below
    limit = limits[state.epoch - 1] if 0 < state.epoch <= len(limits) else None
    if limit is None:
        return False
    sign = _sign(run)
    return comparable(state.best["score"], sign) < sign * limit


def _describe_step(run: Run) -> str:
    settings, state = run.settings, run.state
    if run.tasks:
        name, batch = settings.order.epoch(state.epoch)[state.step]
        run = run.of_task(name)
    prepared = run.data["train"]
    if run.task is None:
        order = run.model.epoch_order(prepared, settings.batch_size, settings.seed, state.epoch)
        batch = order[state.step]
    if prepared.sentence_splits is not None:  # long sentences are split: name the whole sentence
        first_words = prepared.segments[0].row_splits.numpy()[batch]
        batch = np.searchsorted(prepared.sentence_splits, first_words, side="right") - 1
    if prepared.record_of is not None:
        batch = prepared.record_of[batch]
    train, more = run.splits.examples["train"], run.splits.unlabelled
    count = len(train)
    places = [(train[n] if n < count else more[n - count]).where for n in batch]
    task = "" if run.task is None else f", task {run.task}"
    return f"step {state.global_step + 1}{task}, examples {', '.join(places)}"


def _line(row: dict[str, Any]) -> str:
    shown = {name: value for name, value in row.items() if name not in ("epoch", "step")}
    return f"epoch {row['epoch']}: " + ", ".join(
        f"{name} {'undefined' if value is None else f'{value:.4f}'}"
        for name, value in shown.items()
    )
