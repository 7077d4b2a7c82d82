"""The training of a student: steps, held-out losses, checkpoints, and going on after a kill."""

import math
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import Field

from hub_modules.storage.files import remove_leftovers
from hub_modules.storage.json_files import Schema, checked
from tf_adapt.data.packing.piece_rows import PieceRows
from tf_adapt.errors import TrainingError
from tf_adapt.runs import checkpoints, run_folder
from tf_adapt.runs.interruption import Interruption, leave
from tf_adapt.training.distilling.display import DistillationDisplay
from tf_adapt.training.distilling.settings import DistillationSettings
from tf_adapt.training.distilling.steps import LOSSES, DistillationSteps
from tf_adapt.training.state import check_identity

EVALUATIONS = 20
SECONDS_BETWEEN_CHECKPOINTS = 300


@dataclass
class DistillationState:
    """Plain values of a distillation's state; the arrays are student and optimizer.

    Attributes:
        identity: values that must be equal to go on: versions, teacher, text, settings.
        step: number of finished steps.
        seconds: spent on steps, evaluations and checkpoints, in all parts.
        pieces: word pieces read, special ones included.
        train_loss: sum of the losses of the steps since the last row of history, and their number.
        evaluated: how many twentieths of the training were done at the last evaluation; −1: none.
        history: a row for each evaluation.
    """

    identity: dict[str, Any]
    step: int = 0
    seconds: float = 0.0
    pieces: int = 0
    train_loss: list[float] = field(default_factory=lambda: [0.0, 0])
    evaluated: int = -1
    history: list[dict[str, Any]] = field(default_factory=list)


class _Saved(Schema):
    """Schema of a `DistillationState` in a checkpoint; `best` is that of runs."""

    identity: dict[str, Any]
    step: int = Field(ge=0)
    seconds: float = Field(ge=0)
    pieces: int = Field(ge=0)
    train_loss: list[float] = Field(min_length=2, max_length=2)
    evaluated: int = Field(ge=0)
    history: list[dict[str, float | int | None]]
    best: None = None


def run_steps(
    folder: Path,
    steps: DistillationSteps,
    train: PieceRows,
    held_out: PieceRows,
    settings: DistillationSettings,
    state: DistillationState,
    display: DistillationDisplay,
) -> DistillationState:
    """Trains to the end; returns the state.

    Every number but the times is a function of the settings and the text where `steps` is set: a
    resumed training gives the same bits.

    Args:
        folder: of the checkpoints and `history.csv`.
        state: where it begins; of a checkpoint if there is one.

    Raises:
        ArtifactError: the checkpoints are damaged, of another training, or cannot be written.
        TrainingError: the loss is not finite.
        KeyboardInterrupt, SystemExit: after SIGINT or SIGTERM, once the state has been saved.
    """
    state = _restored(folder, steps, state)
    before, started = state.seconds, time.monotonic()
    saved = time.monotonic()
    with Interruption() as interruption, display:
        while True:
            state.seconds = before + time.monotonic() - started
            done = settings.share_done(state.step, state.seconds)
            if state.evaluated < math.floor(done * EVALUATIONS):
                state.evaluated = math.floor(done * EVALUATIONS)
                _evaluate(folder, steps, held_out, state, display)
                saved = time.monotonic() - SECONDS_BETWEEN_CHECKPOINTS
            asked = interruption.requested
            if (
                asked is not None
                or done == 1.0
                or time.monotonic() - saved >= SECONDS_BETWEEN_CHECKPOINTS
            ):
                state.seconds = before + time.monotonic() - started
                _save(folder, steps, state)
                saved, interruption.unsaved = time.monotonic(), False
            if asked is not None:
                leave(asked)
            if done == 1.0:
                return state
            interruption.unsaved = True
            loss = _step(steps, train, settings, state)
            display.show(done, state.step, loss, state.history[-1]["held_out_loss"])


def _step(
    steps: DistillationSteps,
    train: PieceRows,
    settings: DistillationSettings,
    state: DistillationState,
) -> float:
    ids, segments = train.batch(state.step)
    loss = steps.update(ids, segments, settings.rate(state.step, state.seconds))[0]
    if not math.isfinite(loss):
        raise TrainingError(
            f"step {state.step + 1}: the loss is not finite; nothing of this step was saved. "
            "Lower the learning rate (--learning-rate), or leave out --precision"
        )
    state.step += 1
    state.pieces += ids.size
    state.train_loss = [state.train_loss[0] + loss, state.train_loss[1] + 1]
    return loss


def held_out_losses(steps: DistillationSteps, held_out: PieceRows) -> dict[str, float]:
    """The mean of each loss over the held-out batches, in `history.csv`'s names."""
    values = [steps.losses(*held_out.batch(number)) for number in range(held_out.batches)]
    means = np.mean(values, axis=0)
    return {f"held_out_{name}": float(mean) for name, mean in zip(LOSSES, means, strict=True)}


def _evaluate(
    folder: Path,
    steps: DistillationSteps,
    held_out: PieceRows,
    state: DistillationState,
    display: DistillationDisplay,
) -> None:
    total, count = state.train_loss
    row = {
        "step": state.step,
        "minutes": round(state.seconds / 60, 3),
        "pieces": state.pieces,
        "train_loss": total / count if count else None,
        **held_out_losses(steps, held_out),
    }
    state.history, state.train_loss = [*state.history, row], [0.0, 0]
    run_folder.write_history(folder, state.history)
    display.say(
        f"step {row['step']}, {row['minutes']:.1f} minutes: held-out loss "
        f"{row['held_out_loss']:.4f} (states {row['held_out_states']:.4f}, relations "
        f"{row['held_out_relations']:.4f}, mean {row['held_out_mean']:.4f})"
    )


def _save(folder: Path, steps: DistillationSteps, state: DistillationState) -> None:
    groups = steps.variables.items()
    arrays = {name: checkpoints.to_arrays(variables) for name, variables in groups}
    checkpoints.save(folder / "checkpoint", arrays, asdict(state))


def _restored(
    folder: Path, steps: DistillationSteps, state: DistillationState
) -> DistillationState:
    remove_leftovers(folder, run_folder.HISTORY, "record.json")
    remove_leftovers(folder / "checkpoint", *checkpoints.NAMES)
    checkpoint = checkpoints.load_latest(folder / "checkpoint")
    if checkpoint is None:
        return state
    where = str(checkpoint.path / checkpoints.STATE)
    values = checked(_Saved, checkpoint.state, where).model_dump()
    values.pop("best")
    restored = DistillationState(**values)
    check_identity(
        restored.identity,
        state.identity,
        f"{folder}: the distillation",
        "say what was said before, choose another --out, or remove the folder to start anew",
    )
    groups = steps.variables
    for name, variables in groups.items():
        where = str(checkpoint.path / f"{name}.npz")
        checkpoints.check_fit(variables, checkpoint.arrays.get(name, {}), where)
    for name, variables in groups.items():
        where = str(checkpoint.path / f"{name}.npz")
        checkpoints.assign(variables, checkpoint.arrays[name], where)
    return restored
