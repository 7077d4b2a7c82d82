"""A run in progress."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import keras

from tf_adapt.data.batches import PreparedData
from tf_adapt.data.consistency_batches import Unlabelled
from tf_adapt.data.splits.read_splits import Splits
from tf_adapt.encoder.starting_point import StartingPoint
from tf_adapt.models.adapted_model import AdaptedModel
from tf_adapt.models.multi_task_model import MultiTaskModel
from tf_adapt.runs.interruption import Interruption
from tf_adapt.runs.slices import Members, Slices
from tf_adapt.training.resolving.build import Settings, TaskParts
from tf_adapt.training.results.forgetting import SourceTask
from tf_adapt.training.state import RunState


@dataclass(frozen=True, kw_only=True)
class Run:
    """Everything that the epochs of a run and its end need.

    Attributes:
        splits, data: of the task; of several tasks those of the target. `data` are the prepared
            splits, with features if the encoder stays frozen.
        start: copies of the encoder's weights before training, if any are trainable.
        members: the examples of each of the slices, by split.
        teacher: as in `metrics.json` (`run_schemas.Taught`), without the student; or None.
        started_from: the run that this one starts from, for `metrics.json`, or None.
        source_task: what the module's own task is measured on at the end, or None.
        writes: whether this process writes the run folder.
        started: `time.monotonic()` when the run began.
        tasks: the parts of several tasks by name; empty for one task.
        unlabelled: texts for consistency, or None.
        task: which of several tasks this is the run of; None: all of them, or the only one.
    """

    folder: Path
    settings: Settings
    splits: Splits
    data: dict[str, PreparedData]
    model: AdaptedModel | MultiTaskModel
    ever_trained: list[keras.Variable]
    start: StartingPoint | None
    slices: Slices
    members: dict[str, Members]
    teacher: dict[str, Any] | None
    started_from: dict[str, Any] | None
    source_task: SourceTask | None
    state: RunState
    interruption: Interruption
    writes: bool
    started: float
    tasks: dict[str, TaskParts] = field(default_factory=dict)
    unlabelled: Unlabelled | None = None
    task: str | None = None

    def of_task(self, name: str) -> "Run":
        """The run as one of several tasks sees it."""
        part = self.tasks[name]
        settings = replace(self.settings, head=part.head, reads=part.reads)
        return replace(
            self, task=name, model=part.model, splits=part.splits, data=part.data, settings=settings
        )

    @property
    def checkpoints(self) -> Path:
        """The folder of its checkpoints."""
        return self.folder / "checkpoint"
