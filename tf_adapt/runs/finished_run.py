"""A finished run as another run's beginning or teacher: what of its folder is needed, and a copy.

Imports no TensorFlow.
"""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from hub_modules.find import find_module
from hub_modules.kept_layers import kept_hash
from hub_modules.manifest import module_hash
from hub_modules.storage import records
from hub_modules.storage.files import publish_folder
from tf_adapt.errors import ArtifactError, ConfigError
from tf_adapt.printing import words
from tf_adapt.runs import checkpoints, run_folder

# The files that are read of it, beside its best weights.
_FILES = (run_folder.CONFIG, run_folder.TASK, run_folder.METRICS)


class EncoderModule(Protocol):
    """Which module an encoder is, and which of its layers are kept."""

    handle: str
    keep_layers: Sequence[int] | None


@dataclass(frozen=True)
class FinishedRun:
    """A finished run.

    Attributes:
        folder: its folder, or the folder of its copy.
        task: the arguments of its `Task`; of several tasks those of the target.
        tasks: the arguments of each of several tasks, by name; empty for one.
        module: the hash of its encoder's module.
        metrics: its `metrics.json`.
        weights: SHA-256 of its best weights.
    """

    folder: Path
    task: dict[str, Any]
    tasks: dict[str, dict[str, Any]]
    module: str
    metrics: dict[str, Any]
    weights: str

    def copy_to(self, folder: Path) -> None:
        """Copies what `finished_run` reads; nothing if the folder exists.

        Raises:
            ArtifactError: the folder cannot be written.
        """
        if folder.exists():
            return
        best = run_folder.best_folder(self.folder, self.metrics)
        with publish_folder(folder) as aside:
            for name in _FILES:
                records.write(aside, name, records.read(self.folder, name).decode("utf-8"))
            shutil.copytree(best, aside / "checkpoint" / best.name)


def finished_run(key: str, folder: str | Path) -> FinishedRun:
    """The finished run in a folder; nothing is loaded yet.

    Args:
        key: of the config, for messages.

    Raises:
        ConfigError: there is no run in the folder, or it is not finished.
        ArtifactError: it is damaged.
    """
    folder = Path(folder)
    if not (folder / run_folder.CONFIG).is_file():
        raise ConfigError(
            f"{key}: expected the folder of a finished run, got {folder}, which holds no "
            f"{run_folder.CONFIG}; name the folder that `tf-adapt train` wrote"
        )
    run_folder.saved_content(folder)  # raises where it is damaged
    metrics = run_folder.finished_metrics(folder)
    if metrics is None:
        raise ConfigError(
            f"{key}: expected a finished run, got {folder}, which has no {run_folder.METRICS} yet; "
            "give the command that started it again, until its last epoch"
        )
    hashes = checkpoints.check(run_folder.best_folder(folder, metrics))
    described = run_folder.saved_task(folder)
    task = described.task or described.tasks[metrics["target"]]
    return FinishedRun(
        folder,
        task.model_dump(),
        {name: described_task.model_dump() for name, described_task in described.tasks.items()},
        described.module,
        metrics,
        hashes["model.npz"],
    )


def kept_run(key: str, folder: str | Path, copy: Path) -> FinishedRun:
    """The run in a folder, or its copy where the folder has gone.

    Args:
        key: of the config, for messages.
        copy: the folder of the copy, which need not exist.

    Raises:
        ConfigError, ArtifactError: as `finished_run`.
        ArtifactError: the run in the folder is not that of the copy.
    """
    if not copy.exists():
        return finished_run(key, folder)
    kept = finished_run(key, copy)
    if Path(folder, run_folder.METRICS).is_file():
        now = finished_run(key, folder)
        if now.weights != kept.weights:
            raise ArtifactError(
                f"{key}: {folder} has other weights than when this run began (expected SHA-256 "
                f"{kept.weights[:12]}…, as in {copy}, got {now.weights[:12]}…); bring them back, "
                "or start a new run in another folder"
            )
    return kept


def chain_in_words(start: dict[str, Any]) -> str:
    """`RUN: dataset, adaptation, accuracy 87.4 on test`, and what that run started from.

    Args:
        start: the `start` of a `metrics.json`.
    """
    text = (
        f"{words.visible(start['run'])}: {words.visible(start['dataset'])}, {start['adaptation']}, "
        f"{words.metric_name(start['metric'])} {words.score(start['score'])} on {start['split']}"
    )
    earlier = start.get("start")
    return text if earlier is None else f"{text}, which started from {chain_in_words(earlier)}"


def module_of(encoder: EncoderModule) -> str:
    """The hash of an encoder's module, as a run on it has it; without loading it.

    Raises:
        ArtifactError: the module is missing or damaged.
    """
    return kept_hash(module_hash(find_module(encoder.handle)), encoder.keep_layers)


def module_in_words(encoder: EncoderModule) -> str:
    """The module of a run's encoder: `bert_small (keep_layers 0, 2)`."""
    kept = encoder.keep_layers
    return encoder.handle + (f" (keep_layers {', '.join(map(str, kept))})" if kept else "")
