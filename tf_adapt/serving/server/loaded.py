"""One version of an export, checked and in memory: its signatures as functions of texts, for JSON.

Imports no TensorFlow.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hub_modules.engines.names import TENSORFLOW
from tf_adapt.errors import ArtifactError, ConfigError, DataError
from tf_adapt.runs.export_files import described_tasks, description_file, saved_task
from tf_adapt.serving.exports.model_card import CARD
from tf_adapt.serving.kinds import GENERATE, KINDS
from tf_adapt.serving.reading.opened import Answer, Opened, check_export, opened
from tf_adapt.serving.server.answer_json import Outputs
from tf_adapt.serving.server.limits import RefusedError
from tf_adapt.serving.server.request_json import Columns, Inputs
from tf_adapt.tasks.task import Task

# Of a card or a report, in bytes.
_LONGEST_TEXT = 200_000


@dataclass(frozen=True)
class Signature:
    """A task of an export.

    Attributes:
        inputs: rank by name, see `request_json`.
        call: columns of texts, and settings → one value a row for each output; raises
            `RefusedError` where the model refuses a text.
        definition: as in TensorFlow Serving's metadata.
        dataset: the name of the one that the task was trained on; None: own files.
    """

    task: Task
    inputs: Inputs
    call: Callable[[Columns], Outputs]
    definition: dict[str, Any]
    dataset: str | None = None


@dataclass(frozen=True)
class Export:
    """A loaded export: its signatures by name, its model card, and the report behind it.

    Attributes:
        card, report: Markdown; "" where there is none.
    """

    signatures: dict[str, Signature]
    card: str
    report: str

    @property
    def of_tasks(self) -> dict[str, Signature]:
        """One signature for each task: those with settings are further ones."""
        return {name: one for name, one in self.signatures.items() if all(one.inputs.values())}


def load_export(folder: Path, trust: bool, engine: str = TENSORFLOW) -> Export:
    """Loads an export and calls each signature once.

    Raises:
        ArtifactError: the folder is no export, or it is damaged, not trusted or not one of ours.
        ConfigError: the engine cannot compute its encoder.
    """
    check_export(folder)
    exported, tasks = opened(folder, trust, engine), tasks_of(folder)
    signatures = {}
    for name, (task, dataset) in tasks.items():
        try:
            signatures[name] = _signature(exported, name, task, inputs_of(task), dataset)
            if KINDS[task.kind].settings:
                inputs = inputs_of(task) | dict.fromkeys(KINDS[task.kind].settings, 0)
                signatures[GENERATE] = _signature(exported, GENERATE, task, inputs, dataset)
        except ConfigError:
            raise
        # A signature that is not one of ours may fail in any way.
        except Exception as error:
            problem = (str(error) or type(error).__name__).splitlines()[0][:200]
            raise ArtifactError(
                f"{folder}: expected a signature {name} for {task.kind} with the labels of its "
                f"task, got another one ({problem}); export the run again"
            ) from error
    return Export(signatures, _text(folder / CARD), _report(folder))


def _signature(
    exported: Opened, name: str, task: Task, inputs: Inputs, dataset: str | None
) -> Signature:
    """A signature that was called once."""
    call, settings = _listed(exported.answer(name)), KINDS[task.kind].settings
    words = {1: ["a"], 2: [["a"]]}
    first = {key: words[rank] if rank else settings[key](1) for key, rank in inputs.items()}
    _check_outputs(task, call(first))
    return Signature(task, inputs, call, exported.definitions[name], dataset)


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


def _report(folder: Path) -> str:
    """Of the comparison that the export is the winner or candidate of: `winner/NAME/1`."""
    place = folder.resolve().parents
    if len(place) < 3 or place[1].name not in ("winner", "candidate"):
        return ""
    return _text(place[2] / "report.md")


def _text(path: Path) -> str:
    if not path.is_file():
        return ""
    with open(path, "rb") as file:
        return file.read(_LONGEST_TEXT).decode("utf-8", "replace")


def inputs_of(task: Task) -> Inputs:
    """The inputs of a task's signature: rank by name."""
    return KINDS[task.kind].inputs


def _listed(answer: Answer) -> Callable[[Columns], Outputs]:
    """The answer of a signature as values of JSON."""

    def call(columns: Columns) -> Outputs:
        try:
            return {name: _values(array) for name, array in answer(columns).items()}
        except DataError as error:
            raise RefusedError(400, str(error)) from None

    return call


def _values(array: np.ndarray) -> list:
    if array.dtype != object and not np.isfinite(array).all():
        raise ValueError("expected finite numbers from the model, got others")
    return array.tolist()


def _check_outputs(task: Task, outputs: Outputs) -> None:
    expected = KINDS[task.kind].outputs(len(task.labels or ()))
    got = {name: np.shape(values) for name, values in outputs.items()}
    if got != expected:
        raise ValueError(f"expected the outputs {expected}, got {got}")
