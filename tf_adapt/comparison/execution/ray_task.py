"""A run as a task of Ray: what Ray calls on a node.

A task whose node dies is called again on another, and its run goes on from its checkpoint. Where
its worker dies alone, or the comparison, the run is told to save its state and to end.
"""

import ctypes
import signal
import time
from dataclasses import dataclass
from pathlib import Path

from tf_adapt.comparison.execution.node_process import GRACE_SECONDS, POLL_SECONDS, end, start, wait
from tf_adapt.errors import ArtifactError, ConfigError
from tf_adapt.runs.run_folder import locked

_PR_SET_PDEATHSIG = 1  # of prctl(2)


@dataclass(frozen=True)
class Call:
    """What a task is given.

    Attributes:
        arguments: of `tf-adapt`.
        folder, log: of the run.
        threads: that it may use.
        locks: whether the run locks its folder.
    """

    arguments: list[str]
    folder: str
    log: str
    threads: int
    locks: bool = True


def execute(call: Call) -> int:
    """Executes the command of a run in a process of its own; its exit code (−n: signal n).

    Raises:
        ConfigError: the node does not see the folder of the comparison.
        KeyboardInterrupt: the task was cancelled; the run has saved its state.
    """
    if not Path(call.log).parent.is_dir():
        import ray

        node = ray.util.get_node_ip_address()
        raise ConfigError(
            f"--out: expected a folder on a file system that all nodes share, got {call.folder}, "
            f"which node {node} does not see"
        )
    if call.locks:
        _wait_until_free(Path(call.folder))
    process = start(call.arguments, call.log, call.threads, _end_with_parent)
    try:
        return wait(process)
    except KeyboardInterrupt:
        end(process)
        raise


def _wait_until_free(folder: Path) -> None:
    """Waits for the process of the same run whose worker has died, which saves its state."""
    deadline = time.monotonic() + GRACE_SECONDS
    while time.monotonic() < deadline:
        try:
            with locked(folder):
                return
        except ArtifactError:  # the run itself will say what it is
            time.sleep(POLL_SECONDS)


def _end_with_parent() -> None:
    """Linux: SIGTERM when the worker of Ray dies, which else would leave the run behind."""
    prctl = getattr(ctypes.CDLL(None), "prctl", None)
    if prctl is not None:
        prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
