"""The state of a run, saved to and restored from checkpoints."""

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import keras
from pydantic import Field

from hub_modules.storage.json_files import Schema, checked
from tf_adapt.errors import ArtifactError
from tf_adapt.runs import checkpoints
from tf_adapt.training.epoch_lengths import EpochLengths


@dataclass
class RunState:
    """Plain values of a run's state; the arrays are in the model and its optimizer.

    Attributes:
        identity: values that must be equal for the run to be resumed: versions, data, module.
        epoch: number of finished epochs, evaluation included.
        step: number of finished steps in the current epoch.
        steps_per_epoch: batches of one pass over the training data.
        last_from, last_steps: see `EpochLengths`.
        logs: training loss and metrics of an epoch that is not evaluated yet.
        history: one row per finished epoch.
        position: current phase of the adaptation, and the epoch or step at which it began.
        best: epoch (from 0), dev score and folder name of the best weights so far, and the name of
            the folder with the optimizer's slots (None: no later phase starts from them).
        seconds: spent, by kind of work.
    """

    identity: dict[str, Any]
    steps_per_epoch: int
    epoch: int = 0
    step: int = 0
    logs: dict[str, float] | None = None
    history: list[dict[str, Any]] = field(default_factory=list)
    position: dict[str, int] = field(default_factory=lambda: {"phase": 0, "since": 0})
    best: dict[str, Any] | None = None
    seconds: dict[str, float] = field(default_factory=lambda: {"training": 0.0, "evaluation": 0.0})
    last_from: int | None = None
    last_steps: int | None = None

    @property
    def lengths(self) -> EpochLengths:
        """The number of steps of each epoch."""
        return EpochLengths(self.steps_per_epoch, self.last_from, self.last_steps)

    @property
    def steps_of_epoch(self) -> int:
        """Number of steps of the current epoch."""
        return self.lengths.of(self.epoch)

    @property
    def global_step(self) -> int:
        """Number of finished steps of the run."""
        return self.lengths.start(self.epoch) + self.step


class _Position(Schema):
    phase: int = Field(ge=0)
    since: int = Field(ge=0)


class _Saved(Schema):
    """Schema of a `RunState` in a checkpoint."""

    identity: dict[str, Any]
    epoch: int = Field(ge=0)
    step: int = Field(ge=0)
    steps_per_epoch: int = Field(ge=1)
    logs: dict[str, float | None] | None
    history: list[dict[str, float | int | None]]
    position: _Position
    best: checkpoints.Best | None
    seconds: dict[str, float]
    last_from: int | None = None
    last_steps: int | None = None


def check_identity(saved: dict[str, Any], now: dict[str, Any], where: str, advice: str) -> None:
    """Compares what has to be equal for a checkpoint to go on.

    Args:
        where: the folder and what cannot go on, for the message.
        advice: what to do.

    Raises:
        ArtifactError: something differs.
    """
    changed = [
        f"{key} (was {saved.get(key)}, now {value})"
        for key, value in now.items()
        if saved.get(key) != value
    ]
    if changed:
        raise ArtifactError(
            f"{where} cannot go on, since this differs: {', '.join(changed)}; {advice}"
        )


def save_state(folder: Path, state: RunState, model: keras.Model, writes: bool = True) -> None:
    """Writes a checkpoint of the run; without `writes` the variables are only read.

    All processes must call it, though only one writes: reading a metric sums it over processes.

    Raises:
        ArtifactError: the checkpoint cannot be written.
        TrainingError: a value is not finite.
    """
    arrays = {name: checkpoints.to_arrays(group) for name, group in _variables(model).items()}
    if writes:
        checkpoints.save(folder, arrays, asdict(state))


def restore_state(folder: Path, state: RunState, model: keras.Model) -> RunState:
    """The state of the newest intact checkpoint, whose arrays are assigned to the model.

    Returns `state` if there is no checkpoint.

    Raises:
        ArtifactError: no checkpoint is intact, or it has other data, another module or version.
    """
    checkpoint = checkpoints.load_latest(folder)
    if checkpoint is None:
        return state
    where = str(checkpoint.path / checkpoints.STATE)
    restored = RunState(**checked(_Saved, checkpoint.state, where).model_dump())
    check_identity(
        restored.identity,
        state.identity,
        f"{checkpoint.path}: the run",
        "bring back what it was, or start a new run in another folder",
    )
    _check_position(restored, state.lengths, where)
    groups = _variables(model)
    for name, variables in groups.items():
        place = checkpoint.path / f"{name}.npz"
        if name not in checkpoint.arrays:
            raise ArtifactError(f"{place}: expected {len(variables)} arrays, got no such file")
        checkpoints.check_fit(variables, checkpoint.arrays[name], str(place))
    for name, variables in groups.items():
        checkpoints.assign(variables, checkpoint.arrays[name], str(checkpoint.path / f"{name}.npz"))
    return restored


def _check_position(restored: RunState, lengths: EpochLengths, where: str) -> None:
    """Checks that a state is consistent and fits the data, so that no epoch is lost or repeated."""
    steps = lengths.of(restored.epoch)
    if restored.lengths != lengths or restored.step > steps:
        raise ArtifactError(
            f"{where}: expected at most {steps} steps an epoch, got step "
            f"{restored.step} of {restored.steps_of_epoch}; it belongs to other data"
        )
    history, best = restored.history, restored.best
    epochs = [row.get("epoch") for row in history]
    columns = {tuple(row) for row in history}
    if epochs != list(range(1, restored.epoch + 1)) or len(columns) > 1:
        raise ArtifactError(
            f"{where}: expected a row of history for each of {restored.epoch} epochs, all with the "
            f"same columns, got {len(history)} rows; the checkpoint was changed"
        )
    if (best is None) != (restored.epoch == 0) or (best and best["epoch"] >= restored.epoch):
        raise ArtifactError(
            f"{where}: best: expected one of {restored.epoch} epochs, got {best}; the checkpoint "
            "was changed"
        )


def copy_state(source: keras.Model, target: keras.Model) -> None:
    """Copies all variables from an equally built model, and resets the metrics."""
    targets = _variables(target)
    for name, variables in _variables(source).items():
        if name != "metrics":
            for variable, value in zip(targets[name], variables, strict=True):
                variable.assign(value)
    target.reset_metrics()


def _variables(model: keras.Model) -> dict[str, list]:
    """The variables of a training by group; `random` are the states of seed generators."""
    known = {id(variable) for variable in (*model.weights, *model.metrics_variables)}
    return {
        "model": model.weights,
        "random": [variable for variable in model.variables if id(variable) not in known],
        "optimizer": model.optimizer.variables,
        "metrics": model.metrics_variables,
    }
