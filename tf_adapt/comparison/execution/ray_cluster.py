"""Executes runs as tasks of a Ray cluster.

The folder of the comparison is on a file system that all nodes share. Our code goes to the nodes
with the tasks, and so do data and modules where a node has none at their path. What lasts is in run
folders alone: a comparison that is begun again begins its tasks anew.
"""

import contextlib
import importlib.util
import math
import os
import signal
import socket
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import hub_modules
import tf_adapt
from hub_modules.storage.machine import gpus
from tf_adapt.comparison.execution.jobs import default_gpus_per_run, jobs_at_once
from tf_adapt.comparison.execution.node_process import GRACE_SECONDS
from tf_adapt.comparison.execution.ray_task import Call, Missing, execute
from tf_adapt.comparison.execution.runs import CellRun, log_of
from tf_adapt.comparison.execution.shipped_files import read_files
from tf_adapt.errors import ConfigError, TfAdaptError, TrainingError

AUTO = "auto"
ANSWER_SECONDS = 10.0
MOST_LOST = 3  # times that a run begins again whose node or worker has died
# Variables that say where caches are and how libraries behave.
_PASSED = ("TF_", "TFHUB_", "TFDS_", "HF_", "KAGGLE", "KERAS_", "XLA_")
# The shared memory of a cluster of our own: all that tasks return is a number.
_OBJECTS_BYTES = 100_000_000


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
        self.contents: dict[str, Any] = {}
        self.task: Any = None
        self.tasks: dict[Any, CellRun] = {}  # by the reference to what the task will return

    @property
    def running(self) -> list[CellRun]:
        """The runs whose task waits or is at work."""
        return list(self.tasks.values())

    @property
    def room(self) -> int:
        """Tasks that it takes."""
        return self.cluster.most - len(self.tasks)

    def choice(self, waiting: Sequence[CellRun]) -> CellRun:
        """The first."""
        return waiting[0]

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
            return []
        over, _ = ray.wait(references, num_returns=len(references), timeout=0)
        found = []
        for reference in over:
            run = self.tasks.pop(reference)
            returned = _returned(reference, run)
            if isinstance(returned, Missing):
                self._bring(returned)
                self.start(run)
            else:
                found.append((run, returned))
        return found

    def stop(self) -> None:
        """Cancels all tasks, once their runs have saved their state, and leaves the cluster."""
        import ray

        references = list(self.tasks)
        self.tasks.clear()
        for reference in references:
            ray.cancel(reference)
        if references:
            ray.wait(references, num_returns=len(references), timeout=GRACE_SECONDS)
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

        with _own_signals():
            self._connect()
        found = max(int(node["Resources"].get("GPU", 0)) for node in ray.nodes() if node["Alive"])
        wanted = self.cluster.gpus_per_run
        if wanted is None:
            wanted = default_gpus_per_run(self.cluster.devices, found) if found else 0
        options = {"num_cpus": self.cluster.cpus_per_run, "num_gpus": wanted}
        spread = {"max_retries": MOST_LOST, "scheduling_strategy": "SPREAD"}
        return ray.remote(**options, **spread)(execute)

    def _connect(self) -> None:
        _check_answers(self.cluster.address)
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # its report of its use to others
        passed = {key: value for key, value in os.environ.items() if key.startswith(_PASSED)}
        passed["TF_FORCE_GPU_ALLOW_GROWTH"] = "true"  # a GPU may be shared
        try:
            _init(address=self.cluster.address, runtime_env={"env_vars": passed} | _our_code())
        except ConnectionError:  # with `auto`: there is none
            self.is_joined = False
            jobs = min(self.cluster.most, jobs_at_once(self.cells, self.threads))
            _init(
                num_cpus=math.ceil(jobs * self.cluster.cpus_per_run),
                num_gpus=len(gpus()),
                include_dashboard=False,
                object_store_memory=_OBJECTS_BYTES,
                runtime_env={"env_vars": passed},
            )
        except (RuntimeError, ValueError) as error:
            why = " ".join(str(error).split())
            raise ConfigError(
                f"--cluster: {self.cluster.address}: Ray refuses to connect: {why}"
            ) from None


def _check_answers(address: str) -> None:
    """Ray itself would try for minutes, and then end the process."""
    if address == AUTO:
        return
    host, _, port = address.rpartition("://")[2].rpartition(":")
    try:
        socket.create_connection((host, int(port)), ANSWER_SECONDS).close()
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"--cluster: expected HOST:PORT of a running Ray cluster, or auto, got {address} "
            f"({error}); `ray status` on its head names it"
        ) from None


def _init(**options: Any) -> None:
    import ray

    ray.init(log_to_driver=False, logging_level="error", **options)


def _our_code() -> dict[str, Any]:
    """What Ray brings to the nodes, by its hash."""
    packages = [str(Path(package.__file__).parent) for package in (tf_adapt, hub_modules)]
    return {"py_modules": packages, "excludes": ["**/__pycache__"]}


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


@contextlib.contextmanager
def _own_signals() -> Iterator[None]:
    """Keeps the handler of SIGTERM, which `ray.init` replaces by one that saves nothing."""
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, before)


def _check_installed() -> None:
    if importlib.util.find_spec("ray") is None:
        raise ConfigError(
            "--cluster needs Ray, which is not installed: `pip install 'tf_adapt[ray]'`"
        )
