"""What executes the runs of a comparison: this machine, or a cluster.

An executor is given runs and says which of them have ended; it knows nothing of what a comparison
is. All that lasts is in run folders, so that any of them goes on where another stopped.
"""

import os
import platform
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Protocol

from hub_modules.storage.machine import gpus
from tf_adapt.comparison.execution.jobs import default_gpus_per_run, jobs_at_once, shares
from tf_adapt.comparison.execution.local import LocalExecutor
from tf_adapt.comparison.execution.ray_cluster import RayExecutor
from tf_adapt.comparison.execution.resources import MOST_QUEUED, Resources
from tf_adapt.comparison.execution.runs import CellRun
from tf_adapt.comparison.execution.slurm import SlurmExecutor
from tf_adapt.errors import ConfigError


class Executor(Protocol):
    """Executes runs, several at a time.

    Attributes:
        poll_seconds: between two looks at what has ended.
        running: the runs that were started and have not ended.
        room: how many more it takes now.
    """

    poll_seconds: float

    @property
    def running(self) -> list[CellRun]: ...

    @property
    def room(self) -> int: ...

    def choice(self, waiting: Sequence[CellRun]) -> CellRun:
        """The one that it would start next."""

    def start(self, run: CellRun) -> None:
        """Takes a run, which begins at the latest with `flush`."""

    def flush(self) -> None:
        """Nothing more is started before the next look."""

    def ended(self, is_finished: Callable[[CellRun], bool]) -> list[tuple[CellRun, int]]:
        """The runs that have ended since the last look, with their exit codes (−n: signal n)."""

    def stop(self) -> None:
        """Ends all runs, once they have saved their state."""


def executor_for(
    resources: Resources, cells: int, threads: int, devices: Collection[str | None], cache: Path
) -> Executor:
    """The executor of some resources.

    Args:
        cells: with unfinished runs.
        threads: of each run; scores depend on them in the last bits.
        devices: `training.devices` of the runs.
        cache: folder of the features of frozen encoders.

    Raises:
        ConfigError: more runs at a time than there are GPUs for; GPUs are asked for, and there are
            none; as `SlurmExecutor` and `RayExecutor`.
    """
    if resources.slurm is not None:
        most = resources.jobs or MOST_QUEUED
        return SlurmExecutor(resources.slurm, most, resources.gpus_per_run, threads, cache)
    if resources.cluster is not None:
        return RayExecutor(resources, cells, threads, devices, cache)
    visible = gpus()
    if not visible:
        if resources.gpus_per_run is not None:
            raise ConfigError(
                f"--gpus-per-run: expected visible NVIDIA GPUs, got {resources.gpus_per_run:g} "
                "where there is none; see `nvidia-smi` and CUDA_VISIBLE_DEVICES, or leave it out "
                "to train on the CPU"
            )
        return LocalExecutor(
            [None] * (resources.jobs or jobs_at_once(cells, threads)), threads, cache
        )
    per_run = resources.gpus_per_run or default_gpus_per_run(devices, len(visible))
    found = shares(visible, resources.jobs, per_run)
    jobs = resources.jobs or jobs_at_once(cells, threads, len(found))
    return LocalExecutor(found[:jobs], threads, cache)


def machine_in_words(threads: int) -> str:
    """The machine, and the threads of a run, for the report."""
    machine = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"
    return f"{machine}, {threads} thread{'s' * (threads > 1)} a run"
