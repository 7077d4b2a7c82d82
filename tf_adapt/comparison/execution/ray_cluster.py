"""Executes runs as tasks of a Ray cluster.

The folder of the comparison is on a file system that all nodes share. Our code goes to the nodes
with the tasks, and so do data and modules where a node has none at their path. What lasts is in run
folders alone: a comparison that is begun again begins its tasks anew.
"""

import importlib.util
import math
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hub_modules.storage.machine import gpus
from tf_adapt.comparison.execution.jobs import default_gpus_per_run, jobs_at_once
from tf_adapt.comparison.execution.late_results import LateResults
from tf_adapt.comparison.execution.node_process import GRACE_SECONDS
from tf_adapt.comparison.execution.ray_connection import cluster_address, join, start_own
from tf_adapt.comparison.execution.ray_task import Call, Missing, execute
from tf_adapt.comparison.execution.runs import CellRun, log_of
from tf_adapt.comparison.execution.shipped_files import read_files
from tf_adapt.errors import ConfigError, TfAdaptError, TrainingError

MOST_LOST = 3  # times that a run begins again whose node or worker has died
END_SECONDS = 15.0  # beyond those that a run gets; to leave the cluster would end its save
GROWTH_SECONDS = 600.0  # in which a cluster may add a node that holds a run


@dataclass(frozen=True)
class RayCluster:
    """A cluster, and what each run gets of it.

    Attributes:
        address: of its head; `auto`: the running cluster, else one that is started on this machine,
            and stopped at the end.
        most: tasks at a time.
        gpus_per_run: None: where there are GPUs as many as the most of `devices`, else 1.
        cpus_per_run: cores that a node keeps free for a run.
        devices: `training.devices` of the runs.
    """

    address: str
    most: int
    gpus_per_run: float | None
    cpus_per_run: float
    devices: Collection[str | None]


class RayExecutor:
    """A Ray cluster, to which it connects at the first run.

    Args:
        cells: with unfinished runs.
        threads: of each run.
        cache: folder of the features of frozen encoders.

    Raises:
        ConfigError: Ray is not installed.
    """

    poll_seconds = 0.5

    def __init__(self, cluster: RayCluster, cells: int, threads: int, cache: Path):
        _check_installed()
        self.cluster, self.cells, self.threads, self.cache = cluster, cells, threads, cache
        self.is_joined = True  # its nodes may be other machines
        self.waits_for: str | None = None
        self.has_room, self.without_room_since = False, None
        self.needs: dict[str, float] = {}
        self.late = LateResults()
        self.contents: dict[str, Any] = {}
        self.task: Any = None
        self.tasks: dict[Any, CellRun] = {}  # by the reference to what the task will return

    @property
    def running(self) -> list[CellRun]:
        """The runs whose task waits or is at work, or whose result is not seen yet."""
        return [*self.tasks.values(), *self.late.runs]

    @property
    def room(self) -> int:
        """Tasks that it takes."""
        return self.cluster.most - len(self.tasks)

    def choice(self, waiting: Sequence[CellRun]) -> CellRun:
        """The first."""
        return waiting[0]

    def adopt(self, runs: Sequence[CellRun]) -> None:
        """None: runs end with the comparison."""

    def start(self, run: CellRun) -> None:
        """Begins a task, which Ray places."""
        if self.task is None:
            self.task = self._connected()
        with log_of(run):
            arguments = run.arguments(self.cache)
        files = read_files(run.cell.configs, run.out) if self.is_joined else {}
        log, locks = str(run.log), not run.together
        call = Call(arguments, str(run.folder), log, self.threads, locks, files)
        self.tasks[self.task.remote(call, self.contents)] = run

    def flush(self) -> None:
        """Nothing: Ray has the tasks."""

    def ended(self, is_finished: Callable[[CellRun], bool]) -> list[tuple[CellRun, int]]:
        """The runs whose task has ended."""
        import ray

        references = list(self.tasks)
        if not references:
            return self.late.seen(is_finished)
        if not self.has_room:
            self._look_for_room()
        over, _ = ray.wait(references, num_returns=len(references), timeout=0)
        for reference in over:
            run = self.tasks.pop(reference)
            returned = _returned(reference, run)
            if isinstance(returned, Missing):
                self._bring(returned)
                self.start(run)
            else:
                self.late.add(run, returned)
        return self.late.seen(is_finished)

    def stop(self) -> None:
        """Cancels all tasks, once their runs have saved their state, and leaves the cluster."""
        import ray

        references = list(self.tasks)
        self.tasks.clear()
        for reference in references:
            ray.cancel(reference)
        if references:
            ray.wait(references, num_returns=len(references), timeout=GRACE_SECONDS + END_SECONDS)
        if self.task is not None:
            ray.shutdown()
            self.task = None

    def _bring(self, lacks: Missing) -> None:
        """Makes the files that a node lacks known to all tasks from now on."""
        import ray

        for path in set(lacks.paths) - set(self.contents):
            self.contents[path] = ray.put(Path(path).read_bytes())

    def _connected(self) -> Any:
        """What begins a task on the cluster."""
        import ray

        address = cluster_address(self.cluster.address)
        self.is_joined = address is not None
        if address is not None:
            join(address)
        else:
            jobs = min(self.cluster.most, jobs_at_once(self.cells, self.threads))
            start_own(math.ceil(jobs * self.cluster.cpus_per_run), len(gpus()))
        found = max((int(node.get("GPU", 0)) for node in _nodes()), default=0)
        wanted = self.cluster.gpus_per_run
        if wanted is None:
            wanted = default_gpus_per_run(self.cluster.devices, found) if found else 0
        self.needs = {"CPU": self.cluster.cpus_per_run, "GPU": wanted}
        options = {"num_cpus": self.cluster.cpus_per_run, "num_gpus": wanted}
        spread = {"max_retries": MOST_LOST, "scheduling_strategy": "SPREAD"}
        return ray.remote(**options, **spread)(execute)

    def _look_for_room(self) -> None:
        """Says once, and refuses in the end, that no node has what a run needs; Ray would wait for
        ever. A joined cluster may add nodes for tasks that wait."""
        nodes = _nodes()
        self.has_room, self.waits_for = any(_holds(node, self.needs) for node in nodes), None
        if self.has_room:
            return
        largest = max(nodes, key=lambda node: (node.get("GPU", 0), node.get("CPU", 0)), default={})
        lacks = (
            f"--cluster: expected a node with {_in_words(self.needs)}, which a run gets, got "
            f"{_in_words(largest)} on the largest; ask for less with --gpus-per-run and "
            "--cpus-per-run"
        )
        self.without_room_since = self.without_room_since or time.monotonic()
        if not self.is_joined or time.monotonic() - self.without_room_since > GROWTH_SECONDS:
            raise ConfigError(lacks)
        self.waits_for = f"{lacks}, or add one within {GROWTH_SECONDS / 60:g} minutes"


def _nodes() -> list[dict[str, float]]:
    """What each living node has."""
    import ray

    return [node["Resources"] for node in ray.nodes() if node["Alive"]]


def _holds(node: Mapping[str, float], needs: Mapping[str, float]) -> bool:
    return all(node.get(name, 0) >= amount for name, amount in needs.items())


def _in_words(resources: Mapping[str, float]) -> str:
    return f"{resources.get('GPU', 0):g} GPU and {resources.get('CPU', 0):g} CPU"


def _returned(reference: Any, run: CellRun) -> int | Missing:
    """What a task has returned: the exit code of its run."""
    import ray

    try:
        return ray.get(reference)
    except ray.exceptions.RayTaskError as error:  # a class that has the cause's traceback as text
        cause = error.cause
        if isinstance(cause, TfAdaptError):
            raise type(cause)(str(cause)) from None
        raise TrainingError(f"run {run.folder}: its task ended with {cause!r}") from None
    except ray.exceptions.RayError as error:
        raise TrainingError(
            f"run {run.folder}: expected a node that finishes it, got {type(error).__name__} "
            f"({' '.join(str(error).split())}), {MOST_LOST + 1} times where nodes died; see "
            f"{run.log}, and `ray status`; the same command goes on where it stopped"
        ) from None


def _check_installed() -> None:
    if importlib.util.find_spec("ray") is None:
        raise ConfigError(
            "--cluster needs Ray, which is not installed: `pip install 'tf_adapt[ray]'`"
        )
