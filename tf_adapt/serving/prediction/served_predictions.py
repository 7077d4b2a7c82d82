"""Predictions of an export for examples. Imports no TensorFlow, but for a SavedModel."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hub_modules.engines.names import TENSORFLOW
from tf_adapt.errors import ArtifactError, ConfigError, DataError
from tf_adapt.runs.export_files import (
    DEFAULT,
    TASKS,
    described_tasks,
    description_file,
    saved_task,
)
from tf_adapt.serving.prediction.kinds import KINDS
from tf_adapt.serving.prediction.prediction import Prediction
from tf_adapt.serving.prediction.rows import check_numbers
from tf_adapt.serving.reading.opened import Answer, check_export, opened
from tf_adapt.tasks.task import Task

BATCH_SIZE = 32


@dataclass(frozen=True)
class ExportedTask:
    """A task of an export.

    Attributes:
        name: of its signature.
        data: how its files are read, as plain values.
        where: the file that says so, for messages.
    """

    folder: Path
    name: str
    task: Task
    data: dict[str, Any] | None
    where: Path


def exported_task(folder: Path, signature: str | None = None) -> ExportedTask:
    """A task of an export whose files are whole; nothing is loaded.

    Args:
        signature: one of an export of several tasks; None for an export of one.

    Raises:
        ArtifactError: the folder is not an export, or is damaged.
        ConfigError: the export has several tasks and no `signature` is given, or not this one.
    """
    check_export(folder)
    tasks, where = described_tasks(folder), description_file(folder)
    is_shared = where.name == TASKS
    if not is_shared and signature not in (None, DEFAULT):
        raise ConfigError(
            f"{folder}: expected no --signature for an export of one task, got {signature!r}; "
            "leave it out"
        )
    name = signature if is_shared else DEFAULT
    if name not in tasks:
        raise ConfigError(
            f"{folder}: expected --signature with one of {', '.join(tasks)}, for the export has "
            f"several tasks, got {'none' if signature is None else repr(signature)}"
        )
    return ExportedTask(folder, name, saved_task(tasks[name].task, where), tasks[name].data, where)


def predictor(
    exported: ExportedTask, trust: bool, engine: str = TENSORFLOW
) -> Callable[[list], list[Prediction]]:
    """Loads an export: examples → their predictions.

    Args:
        engine: see `opened`.

    Raises:
        ArtifactError: the export is not trusted; when called: it is not one of ours.
        ConfigError: the engine cannot compute it.
        DataError: when called: the export refuses the examples.
    """
    answer, task = opened(exported.folder, trust, engine).answer(exported.name), exported.task

    def predict(records: list) -> list[Prediction]:
        parts = [
            _answered(exported, answer, records[start : start + BATCH_SIZE])
            for start in range(0, len(records), BATCH_SIZE)
        ]
        whole = {key: np.concatenate([part[key] for part in parts]) for key in parts[0]}
        check_numbers(whole)
        return KINDS[task.kind].served_predictions(task, records, whole)

    return predict


def _answered(exported: ExportedTask, answer: Answer, records: list) -> dict[str, np.ndarray]:
    """The predictions for one batch, with the names and shapes of `AdaptedModel.predictions`."""
    row, task = KINDS[exported.task.kind], exported.task
    try:
        predictions = row.served(task, records, answer(row.columns(records)))
        _check_shapes(task, records, predictions)
        return predictions
    except DataError as error:
        first, last = records[0].where, records[-1].where
        raise DataError(f"{first} to {last}: the export refuses these examples: {error}") from None
    except (LookupError, RuntimeError, TypeError, ValueError, AttributeError) as error:
        problem = (str(error) or type(error).__name__).splitlines()[0][:200]
        raise ArtifactError(
            f"{exported.folder}: expected a signature {exported.name} for {task.kind} with the "
            f"labels of its task, got another one ({problem}); export the run again"
        ) from error


def _check_shapes(task: Task, records: list, answer: dict[str, np.ndarray]) -> None:
    count = KINDS[task.kind].rows(records)
    labels = len(task.labels or ())
    names = ("score", "label", "answer", "start", "end", "text", "reply")
    one_each = dict.fromkeys(names, (count,))
    expected = one_each | {"probabilities": (count, labels)}
    for name, array in answer.items():
        if array.shape != expected[name]:
            raise ValueError(f"{name}: expected shape {expected[name]}, got {array.shape}")
