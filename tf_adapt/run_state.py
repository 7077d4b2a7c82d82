"""Where a run stands: what changes from step to step, to disk and back."""

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import keras

from tf_adapt import checkpoints
from tf_adapt.errors import ArtifactError


@dataclass
class RunState:
    """Plain values of a run's position; the arrays are in the model and its optimizer.

    Attributes:
        identity: what must be the same for the run to go on: versions, data, module.
        epoch: epochs finished, their evaluation included.
        step: steps done in the epoch that is under way.
        steps_per_epoch: batches of one pass over the training data.
        logs: training loss and metrics of an epoch whose evaluation is still to come.
        history: one row a finished epoch.
        position: phase of the adaptation, and the time at which it began.
        best: epoch (from 0), dev score and folder name of the best weights so far, and the name of
            the folder with the optimizer's slots then (None: no phase is going to begin with them).
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

    @property
    def global_step(self) -> int:
        """Steps done since the beginning of the run."""
        return self.epoch * self.steps_per_epoch + self.step


def save_state(folder: Path, state: RunState, model: keras.Model, writes: bool = True) -> None:
    """Writes a checkpoint of the run; without `writes` the values are only read.

    Of several processes one writes, but all read: reading a metric sums it over all of them.

    Raises:
        ArtifactError: not writable or no space.
        TrainingError: a value is not finite.
    """
    arrays = {name: checkpoints.to_arrays(group) for name, group in _variables(model).items()}
    if writes:
        checkpoints.save(folder, arrays, asdict(state))


def restore_state(folder: Path, state: RunState, model: keras.Model) -> RunState:
    """The state of the newest intact checkpoint, its arrays in the model; else `state` itself.

    Raises:
        ArtifactError: no checkpoint is intact, or it is of other data, another module or version.
    """
    found = checkpoints.load_latest(folder)
    if found is None:
        return state
    try:
        restored = RunState(**found.state)
    except TypeError as error:
        raise ArtifactError(f"{found.path}: not the state of a run ({error})") from None
    changed = [
        f"{key} (was {restored.identity.get(key)}, now {value})"
        for key, value in state.identity.items()
        if restored.identity.get(key) != value
    ]
    if changed:
        raise ArtifactError(
            f"{found.path}: the run cannot go on, since this differs: {', '.join(changed)}; "
            "bring back what it was, or start a new run in another folder"
        )
    for name, variables in _variables(model).items():
        checkpoints.assign(variables, found.arrays[name], str(found.path / f"{name}.npz"))
    return restored


def copy_state(source: keras.Model, target: keras.Model) -> None:
    """Gives a model the values of another that was built alike; its metrics begin anew."""
    own = _variables(target)
    for name, variables in _variables(source).items():
        if name != "metrics":
            for variable, value in zip(own[name], variables, strict=True):
                variable.assign(value)
    target.reset_metrics()


def _variables(model: keras.Model) -> dict[str, list]:
    """The variables of a training by group; `random` are the states of dropout's generators."""
    known = {id(variable) for variable in (*model.weights, *model.metrics_variables)}
    return {
        "model": model.weights,
        "random": [variable for variable in model.variables if id(variable) not in known],
        "optimizer": model.optimizer.variables,
        "metrics": model.metrics_variables,
    }
