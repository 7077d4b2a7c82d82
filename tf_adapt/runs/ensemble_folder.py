"""The folder of an ensemble: its members, their weights and hashes, its scores. No TensorFlow.

    ensemble.json  predictions/{dev,test}.tsv  record.json

Members stay where they are: the folder has their places, relative to itself, and the hash of what
each of them answers with. The average of weights (a "soup") is a run folder with an `ensemble.json`
beside the run's files.
"""

import hashlib
import json
import os
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import Field

from hub_modules.storage import records
from hub_modules.storage.json_files import Schema, parse_json
from hub_modules.storage.strict_yaml import parse_yaml
from tf_adapt.errors import ArtifactError, ConfigError
from tf_adapt.runs import checkpoints, run_folder, run_schemas

ENSEMBLE = "ensemble.json"
PROBABILITIES, VOTES, WEIGHTS = "probabilities", "votes", "weights"


class EnsembleMember(Schema):
    """A member: its place, the hash of its content (`content_hash`), its share."""

    run: str
    sha256: str
    weight: Annotated[float, Field(ge=0, le=1)]


class SplitResult(Schema):
    """Scores on a split, and the test of the ensemble against the best single run.

    Attributes:
        members: score of each member.
        best: the index of the best single run, by its score on dev.
        difference: of the ensemble − the best single run.
        interval, p: 95 % interval of the difference and two-sided p-value, over the items of the
            split; None with fewer than 20 items, or where both are equal on every item.
        items: number of independent items of the test.
    """

    members: list[float]
    ensemble: float
    best: int
    difference: float
    interval: list[float] | None
    p: float | None
    items: int


class EnsembleFile(Schema):
    """Content of `ensemble.json`.

    Attributes:
        combine: what is averaged: probabilities, votes or weights.
        chosen_on_dev: whether weights (of a soup: the members) were chosen on dev.
        thresholds_on_dev: whether thresholds of a multilabel task were.
        results: by split.
    """

    format: int = 1
    combine: Literal["probabilities", "votes", "weights"]
    chosen_on_dev: bool
    thresholds_on_dev: bool
    task: run_schemas.TaskArguments
    members: list[EnsembleMember] = Field(min_length=1)
    results: dict[str, SplitResult]

    @property
    def metric(self) -> str:
        """The metric of all scores."""
        return self.task.metric


def is_ensemble(folder: Path) -> bool:
    """Whether a folder is that of an ensemble; the average of weights is a run instead."""
    return (folder / ENSEMBLE).is_file() and not (folder / run_folder.CONFIG).is_file()


def refuse_average(folder: Path) -> None:
    """Refuses the run folder of an average of weights, whose training does not go on.

    Raises:
        ConfigError: it is one.
    """
    if (folder / ENSEMBLE).is_file():
        raise ConfigError(
            f"{folder}: expected the folder of a training, got the average of the weights of "
            "several runs, which does not go on; choose another --out"
        )


def content_hash(run: Path, metrics: dict[str, Any]) -> str:
    """SHA-256 of what a finished run answers with: its config, its task and its best weights.

    Slices are left out: a finished run is scored on others without a change of its answers.

    Raises:
        ArtifactError: a file is missing or damaged.
    """
    best = run_folder.best_folder(run, metrics)
    checkpoints.check(best)
    text = records.read(run, run_folder.CONFIG).decode("utf-8")
    config, _ = parse_yaml(text, str(run / run_folder.CONFIG))
    config.pop("slices", None)
    parts = [
        yaml.safe_dump(config, allow_unicode=True).encode("utf-8"),
        records.read(run, run_folder.TASK),
        (best / records.RECORD).read_bytes(),
    ]
    lines = [hashlib.sha256(part).hexdigest() for part in parts]
    return hashlib.sha256("\n".join(lines).encode("ascii")).hexdigest()


def write(folder: Path, ensemble: EnsembleFile) -> None:
    """Writes `ensemble.json`."""
    content = json.dumps(ensemble.model_dump(mode="json"), indent=1, ensure_ascii=False)
    records.write(folder, ENSEMBLE, content + "\n")


def read(folder: Path) -> EnsembleFile:
    """The content of `ensemble.json`.

    Raises:
        ArtifactError: it is missing or damaged, or of another format.
    """
    ensemble = parse_json(records.read(folder, ENSEMBLE), EnsembleFile, str(folder / ENSEMBLE))
    if ensemble.format != 1:
        raise ArtifactError(
            f"{folder / ENSEMBLE}: expected format 1, got {ensemble.format}; use the version of "
            "tf_adapt that wrote it"
        )
    return ensemble


def place_of(run: Path, folder: Path) -> str:
    """The place of a run as an ensemble's folder notes it: relative to the folder."""
    return Path(os.path.relpath(run.resolve(), folder.resolve())).as_posix()


def member_folder(folder: Path, member: EnsembleMember) -> Path:
    """The folder of a member, after a check that it is the run that the ensemble was made of.

    Raises:
        ArtifactError: it is missing, damaged, or another run by now.
    """
    run = Path(os.path.normpath(folder.resolve() / member.run))
    if not (run / run_folder.CONFIG).is_file():
        raise ArtifactError(
            f"{folder}: expected its member in {run}, got no run there; bring it back, move both "
            "together, or make the ensemble again"
        )
    metrics = run_folder.finished_metrics(run)
    if metrics is None or content_hash(run, metrics) != member.sha256:
        raise ArtifactError(
            f"{folder}: its member {run} is another run than the one that it was made of; bring "
            "that one back, or make the ensemble again"
        )
    return run
