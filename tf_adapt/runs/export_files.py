"""What an export says of its tasks, in files beside its model. Imports no TensorFlow."""

from pathlib import Path
from typing import Any

from hub_modules.storage.json_files import Schema, read_json
from tf_adapt.errors import ArtifactError, ConfigError
from tf_adapt.runs import run_folder, run_schemas
from tf_adapt.tasks.task import Task

# The signature of an export of one task.
DEFAULT = "serving_default"
# In an export of several tasks, in place of `task.json`.
TASKS = "tasks.json"


class ExportFile(Schema):
    """Content of an export's `task.json`: the task, and how its files are read."""

    task: run_schemas.TaskArguments
    data: dict[str, Any] | None


class SharedExportFile(Schema):
    """Content of `tasks.json` in an export of several tasks: by signature."""

    tasks: dict[str, ExportFile]


def described_tasks(folder: Path) -> dict[str, ExportFile]:
    """The task of each signature of an export, and how its files are read.

    Raises:
        ArtifactError: the description is damaged.
    """
    where = description_file(folder)
    if where.name == TASKS:
        return read_json(where, SharedExportFile).tasks
    return {DEFAULT: read_json(where, ExportFile)}


def description_file(folder: Path) -> Path:
    """The file with what `described_tasks` reads."""
    shared = folder / TASKS
    return shared if shared.is_file() else folder / run_folder.TASK


def saved_task(arguments: run_schemas.TaskArguments, where: Path) -> Task:
    """The task of a run's or an export's `task.json`.

    Raises:
        ArtifactError: its values contradict each other.
    """
    try:
        return Task(**arguments.model_dump())
    except ConfigError as error:
        raise ArtifactError(f"{where}: {error}; the file was changed: make it again") from None
