"""A teacher's predictions in the folder of its student's run: arrays with their length and hash.

    teacher/answers.npz  teacher/record.json

A cache of features has them for all its runs, in a folder of the same form for each teacher and
texts (`shared_folder`).

Imports no TensorFlow.
"""

import hashlib
import json
import logging
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import Field

from hub_modules.storage.arrays import packed, read_arrays
from hub_modules.storage.files import changed_part, describe, publish_folder
from hub_modules.storage.json_files import Schema
from hub_modules.storage.records import FORMAT, RECORD, Description, read_record
from tf_adapt.errors import ArtifactError
from tf_adapt.runs.run_folder import TEACHER
from tf_adapt.runs.run_schemas import Side

ANSWERS = "answers.npz"
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Answers:
    """A teacher's answers.

    Attributes:
        teacher: a hash of what they depend on.
        texts: hashes of what was asked, by name.
        arrays: the answers by name, see `tf_adapt.training.teachers.teacher.answers_of`.
        facts: scores and costs, a `Side`.
    """

    teacher: str
    texts: dict[str, str]
    arrays: dict[str, np.ndarray]
    facts: dict[str, Any]

    def keep(self, run: Path) -> None:
        """Writes the answers into a run folder or one in a cache, unless it has just these.

        Raises:
            ArtifactError: it cannot be written.
        """
        before = read_answers(run)
        if before is not None and (before.teacher, before.texts) == (self.teacher, self.texts):
            return
        shutil.rmtree(run / TEACHER, ignore_errors=True)
        with publish_folder(run / TEACHER) as aside:
            (aside / ANSWERS).write_bytes(packed(self.arrays))
            record = {
                "format": FORMAT,
                "teacher": self.teacher,
                "texts": self.texts,
                "lengths": {name: len(array) for name, array in self.arrays.items()},
                "facts": self.facts,
                "file": describe(aside / ANSWERS),
            }
            (aside / RECORD).write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def shared_folder(cache: Path, teacher: str, texts: dict[str, str]) -> Path:
    """The folder in a cache with a teacher's answers to these texts."""
    asked = json.dumps([teacher, texts], sort_keys=True).encode("utf-8")
    return cache / f"teacher_{hashlib.sha256(asked).hexdigest()[:32]}"


class _Record(Schema):
    """Content of `record.json`."""

    format: int
    teacher: str
    texts: dict[str, str]
    lengths: dict[str, int] = Field(min_length=1)
    facts: Side
    file: Description


def read_answers(run: Path) -> Answers | None:
    """The answers in a run folder; None, with a warning, if they are damaged, or if there are none.

    A damaged copy can be computed anew.
    """
    folder = run / TEACHER
    if not folder.is_dir():
        return None
    try:
        record = read_record(folder, _Record)
        if changed_part(folder / ANSWERS, record.file.model_dump()) is not None:
            raise ValueError(f"{ANSWERS} is not as long as recorded, or has another SHA-256")
        arrays = read_arrays(folder / ANSWERS)
        lengths = {name: len(array) for name, array in arrays.items()}
        if lengths != record.lengths:
            raise ValueError(f"expected {record.lengths} answers, got {lengths}")
    except (OSError, ValueError, ArtifactError) as error:
        _log.warning("%s: damaged answers of a teacher (%s); computed again", folder, error)
        return None
    facts = record.facts.model_dump(exclude_unset=True)
    return Answers(record.teacher, record.texts, arrays, facts)
