"""The finished runs that become an ensemble, and what they must have in common."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tf_adapt.config.reading import one_task
from tf_adapt.data.splits.fingerprints import fingerprint
from tf_adapt.data.splits.read_splits import Splits, load_splits
from tf_adapt.data.splits.shifted import shifted_splits
from tf_adapt.errors import ArtifactError, ConfigError
from tf_adapt.runs import run_folder
from tf_adapt.runs.ensemble_folder import content_hash
from tf_adapt.runs.exports_in import no_run
from tf_adapt.runs.run_schemas import TaskArguments
from tf_adapt.serving.prediction.ensemble import Member
from tf_adapt.tasks.task import Task
from tf_adapt.training.finished.load_run import loaded_run
from tf_adapt.training.resolving import run_config
from tf_adapt.training.resolving.reading import Reading, reading_of

SPLITS = ("dev", "test")
# What members have in common; the range of a regression's labels is for display.
_ONE_TASK = ("kind", "labels", "scheme", "metric")


@dataclass(frozen=True)
class Candidate:
    """A finished run.

    Attributes:
        sha256: `content_hash`.
    """

    folder: Path
    reading: Reading
    task: TaskArguments
    module: str
    metrics: dict[str, Any]
    sha256: str

    def load(self, trust: bool) -> Member:
        """Its model, with how it reads texts.

        Raises:
            ArtifactError: as `tf_adapt.load_run`.
        """
        model, reading = loaded_run(self.folder, trust)
        return Member(str(self.folder), model, reading.batch_size, reading.limits)


def candidates(runs: Sequence[str | os.PathLike]) -> list[Candidate]:
    """The runs, after checks that each is finished and whole, and that they do one task.

    Raises:
        ConfigError: fewer than two runs, one of them twice, a language model, or two that differ in
            task, labels, tag scheme or metric.
        ArtifactError: one is no run, unfinished or damaged.
    """
    if len(runs) < 2:
        raise ConfigError(
            f"ensemble: expected at least two runs, got {len(runs)}; one alone is used as it is"
        )
    members = [_candidate(Path(run)) for run in runs]
    by_content: dict[str, Candidate] = {}
    for member in members:
        other = by_content.setdefault(member.sha256, member)
        if other is not member:
            raise ConfigError(
                f"{member.folder}: expected another run than {other.folder}, got the same one "
                "twice; name it once (--weights dev gives a run the weight it deserves)"
            )
    for member in members[1:]:
        _check_task(members[0], member)
    return members


def common_splits(members: Sequence[Candidate]) -> Splits:
    """The data of the first run, after a check that all have the same dev and test examples, and
    the same of other domains.

    Raises:
        ConfigError: two runs differ in one of these.
        ConfigError, DataError: as `load_splits`.
    """
    first, *others = members
    splits = load_splits(first.reading.data, first.reading.weak)
    expected = _fingerprints(splits)
    for other in others:
        if other.reading.data == first.reading.data:
            continue
        given = _fingerprints(load_splits(other.reading.data, other.reading.weak))
        for split in sorted(expected | given):
            if given.get(split) != expected.get(split):
                raise ConfigError(
                    f"{other.folder}: expected the {split} examples of {first.folder}, got "
                    f"{'others' if split in given else 'none'}; members of an ensemble are scored "
                    "on one set that none of them was trained on"
                )
    return splits


def scored_splits(splits: Splits) -> dict[str, list]:
    """The examples that members and ensemble answer: of dev, of test, and of other domains."""
    names = (*SPLITS, *shifted_splits(splits.examples))
    return {name: splits.examples[name] for name in names if name in splits.examples}


def other_key(expected: Task | TaskArguments, got: Task | TaskArguments) -> str | None:
    """The first key in which the tasks of two members differ; None: they agree."""
    return next((key for key in _ONE_TASK if getattr(expected, key) != getattr(got, key)), None)


def _candidate(folder: Path) -> Candidate:
    if not (folder / run_folder.CONFIG).is_file():
        raise no_run(folder)
    config = one_task(run_config.saved_config(folder), str(folder), "an ensemble")
    if config.objective == "language_model":
        raise ConfigError(f"{folder}: expected a run of a task with labels, got a language model")
    metrics = run_folder.finished_metrics(folder)
    if metrics is None:
        raise ArtifactError(f"{folder}: expected a finished run; end it with `tf-adapt train`")
    run_folder.check_finished(folder, metrics)
    described = run_folder.saved_task(folder)
    return Candidate(
        folder,
        reading_of(config),
        described.task,
        described.module,
        metrics,
        content_hash(folder, metrics),
    )


def _check_task(first: Candidate, other: Candidate) -> None:
    key = other_key(first.task, other.task)
    if key is not None:
        raise ConfigError(
            f"{other.folder}: task {key}: expected {getattr(first.task, key)}, as of "
            f"{first.folder}, got {getattr(other.task, key)}; members of an ensemble are runs of "
            "one task, with the labels in one order"
        )


def _fingerprints(splits: Splits) -> dict[str, str]:
    return {name: fingerprint(examples) for name, examples in scored_splits(splits).items()}
