"""What executes the runs of a comparison: this machine, or a cluster.

An executor is given runs and says which of them have ended; it knows nothing of what a comparison
is. All that lasts is in run folders, so that any of them goes on where another stopped.
"""

import math
import os
import platform
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from hub_modules.storage.machine import gpus
from tf_adapt.comparison.execution.jobs import (
    default_gpus_per_run,
    gpus_wanted,
    jobs_at_once,
    shares,
)
from tf_adapt.comparison.execution.local import LocalExecutor
from tf_adapt.comparison.execution.ray_cluster import RayCluster, RayExecutor
from tf_adapt.comparison.execution.ray_connection import cluster_address
from tf_adapt.comparison.execution.runs import CellRun
from tf_adapt.comparison.execution.slurm import SlurmExecutor
from tf_adapt.errors import ConfigError

# Jobs in a cluster's queue, by default.
MOST_QUEUED = 256


@dataclass(frozen=True)
class Resources:
    """Where the runs of a comparison are executed.

    Attributes:
        jobs: runs at a time; None: as many as the machine allows, or a queue takes.
        gpus_per_run: 1, more, or a fraction, so that several runs share a GPU; None: as many as the
            most that `training.devices` asks for; where it asks for none, 1 if there are GPUs, and
            none of Slurm.
        slurm: options of `sbatch`, for a Slurm cluster.
        cluster: the address of a Ray cluster, or `auto`.
        cpus_per_run: that Ray keeps free for a run; None: its threads.

    Raises:
        ConfigError: they contradict each other.
    """

    jobs: int | None = None
    gpus_per_run: float | None = None
    slurm: Mapping[str, Any] | None = None
    cluster: str | None = None
    cpus_per_run: float | None = None

    def __post_init__(self):
        check_gpus_per_run("--gpus-per-run", self.gpus_per_run)
        check_cpus_per_run("--cpus-per-run", self.cpus_per_run)
        if self.cluster is not None and self.slurm is not None:
            raise ConfigError("--cluster: expected no --slurm beside it, got both; leave one out")
        if self.cpus_per_run is not None and self.cluster is None:
            raise ConfigError(
                "--cpus-per-run: expected --cluster beside it, whose nodes share out their cores, "
                "got none; elsewhere a run has compare.threads"
            )


class Executor(Protocol):
    """Executes runs, several at a time.

    Attributes:
        poll_seconds: between two looks at what has ended.
        running: the runs that were started and have not ended.
        room: how many more it takes now.
        waits_for: what no machine has for the runs, for the user; None: nothing.
    """

    poll_seconds: float
    waits_for: str | None

    @property
    def running(self) -> list[CellRun]: ...

    @property
    def room(self) -> int: ...

    def choice(self, waiting: Sequence[CellRun]) -> CellRun:
        """The one that it would start next."""

    def adopt(self, runs: Sequence[CellRun]) -> None:
        """Takes those of the runs that it executes already, for an earlier comparison."""

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
        asked = resources.gpus_per_run or gpus_wanted(devices)
        return SlurmExecutor(resources.slurm, most, asked, threads, cache)
    if resources.cluster is not None:
        most = resources.jobs or MOST_QUEUED
        given = resources.gpus_per_run, resources.cpus_per_run or threads
        asked = RayCluster(resources.cluster, most, *given, devices)
        return RayExecutor(asked, cells, threads, cache)
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


def check_resources(
    resources: Resources, cells: int, threads: int, devices: Collection[str | None]
) -> None:
    """Refuses, before anything is written, what `executor_for` and a cluster would refuse.

    Raises:
        ConfigError: as `executor_for`; no Ray cluster answers at its address.
    """
    executor_for(resources, cells, threads, devices, Path())
    if resources.cluster is not None:
        cluster_address(resources.cluster)


def check_gpus_per_run(name: str, value: float | None) -> None:
    """Checks a number of GPUs, which may be a fraction below 1.

    Raises:
        ConfigError: it is none.
    """
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if value is not None and not (is_number and (0 < value < 1 or (value >= 1 and value % 1 == 0))):
        raise ConfigError(
            f"{name}: expected a fraction below 1, or a whole number from 1, got {value!r}"
        )


def check_cpus_per_run(name: str, value: float | None) -> None:
    """Checks a number of cores, which may be a fraction.

    Raises:
        ConfigError: it is none.
    """
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if value is not None and not (is_number and 0 < value < math.inf):
        raise ConfigError(f"{name}: expected a number above 0, got {value!r}")


def machine_in_words(threads: int) -> str:
    """The machine, and the threads of a run, for the report."""
    machine = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"
    return f"{machine}, {threads} thread{'s' * (threads > 1)} a run"
