"""What a teacher is: a finished run or an ensemble. Imports no TensorFlow."""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tf_adapt.runs import ensemble_folder
from tf_adapt.runs.finished_run import finished_run

KEY = "teacher.run"


@dataclass(frozen=True)
class Identity:
    """What a teacher is: the arguments of its `Task`, and a hash of what its answers depend on."""

    task: dict[str, Any]
    hash: str


def identity_of(folder: Path) -> Identity:
    """The identity of the teacher in a folder, without loading it; an ensemble's members are
    checked when they are loaded.

    Raises:
        ConfigError, ArtifactError: as `finished_run` and `ensemble_folder.read`.
    """
    if not ensemble_folder.is_ensemble(folder):
        run = finished_run(KEY, folder)
        return Identity(run.task, run.weights)
    ensemble = ensemble_folder.read(folder)
    members = [[member.sha256, member.weight] for member in ensemble.members if member.weight]
    content = json.dumps([ensemble.combine, members]).encode("ascii")
    return Identity(ensemble.task.model_dump(), hashlib.sha256(content).hexdigest())
