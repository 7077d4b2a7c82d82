"""Predictions of an export for the examples of a file."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from hub_modules.engines.names import TENSORFLOW
from hub_modules.manifest import module_hash, read_manifest, verify
from hub_modules.manifest_schemas import EXPORT
from hub_modules.programs.saved_model import restore_program
from hub_modules.programs.trusted import check_trusted, remember
from tf_adapt.errors import ArtifactError, ConfigError, DataError
from tf_adapt.runs.export_files import (
    DEFAULT,
    TASKS,
    ExportFile,
    described_tasks,
    description_file,
    saved_task,
)
from tf_adapt.serving.exports.export_parts import signature_in
from tf_adapt.serving.prediction.answers import Prediction
from tf_adapt.serving.prediction.kinds import KINDS
from tf_adapt.serving.prediction.predict import check_numbers, predictions_of_rows
from tf_adapt.tasks.task import Task

BATCH_SIZE = 32


def predict_with_export(
    folder: Path,
    read: Callable,
    trust: bool,
    signature: str | None = None,
    engine: str = TENSORFLOW,
) -> tuple[Task, list, list[Prediction | None]]:
    """The task of an export, its examples, and their predictions.

    Args:
        read: called with the task, how files are read (the content of `data`), and the place of
            that for messages; returns the examples.
        signature: one of an export of several tasks; None for an export of one.
        engine: of the encoder: see `signature_in`.

    Raises:
        ConfigError: the export has several tasks and no `signature` is given, or not this one; or
            as `signature_in`.
        ArtifactError: the folder is not an export, or is damaged, not trusted or not one of ours.
        DataError: the export refuses the examples.
    """
    check_export(folder)
    description, where = _description(folder, signature)
    task = saved_task(description.task, where)
    content = module_hash(folder)
    check_trusted(content, trust, f"export {folder}")
    records = read(task, description.data, where)
    module = restore_program(folder, content, "export")
    remember(content)
    name = signature or DEFAULT
    serve = None
    if engine != TENSORFLOW:
        serve = signature_in(engine, module, name, f"export {folder}", content)

    def predict(given: list) -> list[Prediction]:
        outputs = [
            _outputs(folder, task, module, given[start : start + BATCH_SIZE], name, serve)
            for start in range(0, len(given), BATCH_SIZE)
        ]
        answer = {key: np.concatenate([part[key] for part in outputs]) for key in outputs[0]}
        check_numbers(answer)
        return KINDS[task.kind].served_predictions(task, given, answer)

    return task, records, predictions_of_rows(records, predict)


def check_export(folder: Path) -> None:
    """Checks that a folder is a whole export.

    Raises:
        ArtifactError: it is something else, or damaged.
    """
    manifest = read_manifest(folder)
    if manifest is None or manifest.kind != EXPORT:
        got = "a SavedModel without manifest" if manifest is None else f"a {manifest.kind}"
        raise ArtifactError(
            f"{folder}: expected an export, got {got}; write one with `tf-adapt export`"
        )
    verify(folder, manifest)


def tasks_of(folder: Path) -> dict[str, tuple[Task, str | None]]:
    """The task of each signature of an export, and the name of its dataset; None: own files.

    Raises:
        ArtifactError: the description of the tasks is damaged.
    """
    where = description_file(folder)
    return {
        name: (saved_task(served.task, where), _dataset(served.data))
        for name, served in described_tasks(folder).items()
    }


def _dataset(data: dict[str, Any] | None) -> str | None:
    name = (data or {}).get("dataset")
    return name if isinstance(name, str) else None


def _description(folder: Path, signature: str | None) -> tuple[ExportFile, Path]:
    """Task and data of the signature, and the file that they are from."""
    tasks, where = described_tasks(folder), description_file(folder)
    if where.name != TASKS and signature not in (None, DEFAULT):
        raise ConfigError(
            f"{folder}: expected no --signature for an export of one task, got {signature!r}; "
            "leave it out"
        )
    name = DEFAULT if where.name != TASKS else signature
    if name not in tasks:
        raise ConfigError(
            f"{folder}: expected --signature with one of {', '.join(tasks)}, for the export has "
            f"several tasks, got {'none' if signature is None else repr(signature)}"
        )
    return tasks[name], where


def _outputs(
    folder: Path, task: Task, module, records: list, name: str, serve: Callable | None
) -> dict[str, np.ndarray]:
    """The predictions for one batch, with the names and shapes of `AdaptedModel.predictions`."""
    try:
        answer = KINDS[task.kind].served(task, serve or module.signatures[name], records)
        _check_shapes(task, records, answer)
        return answer
    except tf.errors.InvalidArgumentError as error:
        first, last = records[0].where, records[-1].where
        reason = " ".join(error.message.split())[:300]
        raise DataError(f"{first} to {last}: the export refuses these examples: {reason}") from None
    except (KeyError, TypeError, ValueError, AttributeError, tf.errors.OpError) as error:
        problem = (str(error) or type(error).__name__).splitlines()[0][:200]
        raise ArtifactError(
            f"{folder}: expected a signature {name} for {task.kind} with the "
            f"labels of its task, got another one ({problem}); export the run again"
        ) from error


def _check_shapes(task: Task, records: list, answer: dict[str, np.ndarray]) -> None:
    count = KINDS[task.kind].rows(records)
    labels = len(task.labels or ())
    one_each = dict.fromkeys(("score", "label", "answer", "start", "end"), (count,))
    expected = one_each | {"probabilities": (count, labels)}
    for name, array in answer.items():
        if array.shape != expected[name]:
            raise ValueError(f"{name}: expected shape {expected[name]}, got {array.shape}")
