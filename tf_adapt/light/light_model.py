"""A light export, loaded: texts → answers, as the signatures of a SavedModel. No TensorFlow."""

import os
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hub_modules.manifest import read_manifest, verify
from hub_modules.manifest_schemas import LIGHT_EXPORT
from hub_modules.storage.json_files import read_json
from tf_adapt.errors import ArtifactError, ConfigError
from tf_adapt.light.columns import Columns, checked
from tf_adapt.light.engine import LightEngine
from tf_adapt.light.kinds import KINDS
from tf_adapt.light.layout import FORMAT, LIGHT, Answers, LightFile, LightKeys, Model
from tf_adapt.light.packages import check_installed
from tf_adapt.runs.export_files import DEFAULT, described_tasks, saved_task
from tf_adapt.tasks.task import Task


class LightModel:
    """The models of a light export; each is loaded when a task of it is first asked.

    Args:
        folder: a version folder.
        verified: its files were compared with its manifest already.

    Attributes:
        tasks: the tasks by name; `serving_default` of an export of one.

    Raises:
        ConfigError: openvino or tokenizers is not installed.
        ArtifactError: the folder is no light export, damaged, or of a newer format.
    """

    def __init__(self, folder: str | os.PathLike, verified: bool = False):
        check_installed("openvino", "tokenizers")
        self._folder = Path(folder)
        if not verified:
            check_light_export(self._folder)
        self._content = read_light(self._folder)
        described = described_tasks(self._folder)
        self.tasks = {
            name: saved_task(about.task, self._folder / LIGHT) for name, about in described.items()
        }
        if self.tasks.keys() != self._content.tasks.keys():
            raise ArtifactError(
                f"{self._folder / LIGHT}: tasks: expected {', '.join(self.tasks)}, got "
                f"{', '.join(self._content.tasks)}; export the run again"
            )
        for name, task in self.tasks.items():
            where = f"{self._folder / LIGHT}: tasks.{name}"
            _check_fits(task, self._content.tasks[name], self._content.models, where)
        self._engines: dict[int, LightEngine] = {}
        self._loading = threading.Lock()

    def _engine(self, number: int, task: Task) -> LightEngine:
        with self._loading:
            if number not in self._engines:
                settings = self._content.models[number]
                self._engines[number] = LightEngine(settings, self._folder, len(task.labels or ()))
            return self._engines[number]

    def answer(self, columns: Columns, name: str = DEFAULT) -> dict[str, Any]:
        """The outputs of a task's signature, as of a SavedModel: see `tf_adapt.export`.

        Shapes: texts `[batch]`, or for tagging `[batch, words]`, by the name of the input → arrays
        of numbers, and texts as lists, of the same shapes, by the name of the output.

        Raises:
            ConfigError: the export has no task of this name.
            DataError: what the SavedModel refuses: a text that is too long, or no text, other
                columns, or ones of unequal lengths; no rows.
            ArtifactError: a graph or a tokenizer cannot be read.
        """
        if name not in self.tasks:
            raise ConfigError(
                f"{self._folder}: expected one of {', '.join(self.tasks)}, got {name!r}; name one "
                "of its tasks"
            )
        task, answers = self.tasks[name], self._content.tasks[name]
        row = KINDS[task.kind]
        columns = checked(columns, row.inputs)
        of_each = [
            row.answer(self._engine(number, task), task, columns) for number in answers.models
        ]
        if len(of_each) == 1 and answers.chain is None:
            return row.named(of_each[0], task, columns)
        return row.named(row.combined(of_each, answers, task), task, columns)


def check_light_export(folder: Path) -> None:
    """Checks that a folder is a whole light export.

    Raises:
        ArtifactError: it is something else, or damaged.
    """
    manifest = read_manifest(folder)
    if manifest is None or manifest.kind != LIGHT_EXPORT:
        got = "a folder without manifest" if manifest is None else f"a {manifest.kind}"
        raise ArtifactError(
            f"{folder}: expected a light export, got {got}; write one with `tf-adapt export "
            "--format openvino`"
        )
    verify(folder, manifest)


def read_light(folder: Path) -> LightFile:
    """The content of `light.json`.

    Raises:
        ArtifactError: it is damaged, or of a newer format.
    """
    given = read_json(folder / LIGHT, LightKeys).format
    if given != FORMAT:
        raise ArtifactError(
            f"{folder / LIGHT}: expected format {FORMAT}, got {given}; install the version of "
            "tf_adapt that wrote it, or export the run again with this one"
        )
    return read_json(folder / LIGHT, LightFile)


def _check_fits(task: Task, answers: Answers, models: Sequence[Model], where: str) -> None:
    """Checks that what is decoded of logits is for the labels of the task.

    Raises:
        ArtifactError: it is for others.
    """
    used = [models[number] for number in answers.models]
    labels = len(task.labels or ())
    chains = [one.chain for one in (answers, *used) if one.chain is not None]
    if any(len(chain.transitions) != labels for chain in chains):
        problem = f"chains of {labels} tags, got others"
    elif task.spans is not None and any(model.answer_words is None for model in used):
        problem = "models with answer_words, got one without"
    else:
        return
    raise ArtifactError(f"{where}: expected {problem}; the file was changed: export the run again")
