"""Where the runs of a comparison are executed, as a user says it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tf_adapt.errors import ConfigError

# Jobs in a cluster's queue, by default.
MOST_QUEUED = 256


@dataclass(frozen=True)
class Resources:
    """Where the runs of a comparison are executed.

    Attributes:
        jobs: runs at a time; None: as many as the machine allows, or a queue takes.
        gpus_per_run: 1, more, or a fraction, so that several runs share a GPU; None: where this
            machine has GPUs as many as the most that `training.devices` asks for, else 1.
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
        if self.cluster is not None and self.slurm is not None:
            raise ConfigError("--cluster: expected no --slurm beside it, got both; leave one out")
        if self.cpus_per_run is not None and self.cluster is None:
            raise ConfigError(
                "--cpus-per-run: expected --cluster beside it, whose nodes share out their cores, "
                "got none; elsewhere a run has compare.threads"
            )


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
