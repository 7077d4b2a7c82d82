"""A run as a task of Ray: what Ray calls on a node.

A task whose node dies is called again on another, and its run goes on from its checkpoint. Where
its worker dies alone, or the comparison, the run is told to save its state and to end.
"""

import ctypes
import signal
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tf_adapt.comparison.execution.node_process import GRACE_SECONDS, POLL_SECONDS, end, start, wait
from tf_adapt.comparison.execution.shipped_files import missing, place
from tf_adapt.errors import ArtifactError, ConfigError
from tf_adapt.runs.run_folder import locked

_PR_SET_PDEATHSIG = 1  # of prctl(2)
# Looked up here: to load a library after the fork of a worker with many threads may wait for ever.
_PRCTL = getattr(ctypes.CDLL(None), "prctl", None)


@dataclass(frozen=True)
class Call:
    """What a task is given.

    Attributes:
        arguments: of `tf-adapt`.
        folder, log: of the run.
        threads: that it may use.
        locks: whether the run locks its folder.
        files: the hashes of what it reads, by path.
    """

    arguments: list[str]
    folder: str
    log: str
    threads: int
    locks: bool = True
    files: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Missing:
    """The paths at which a node lacks a file."""

    paths: list[str]


def execute(call: Call, contents: dict[str, Any]) -> int | Missing:
    """Executes the command of a run in a process of its own; its exit code (−n: signal n).

    Args:
        contents: references to the contents of files that some node lacks, by path.

    Raises:
        ConfigError: the node does not see the folder of the comparison, or cannot write a file.
        KeyboardInterrupt: the task was cancelled; the run has saved its state.
    """
    import ray

    if not Path(call.log).parent.is_dir():
        node = ray.util.get_node_ip_address()
        raise ConfigError(
            f"--out: expected a folder on a file system that all nodes share, got {call.folder}, "
            f"which node {node} does not see"
        )
    lacks = missing(call.files)
    if not set(lacks) <= set(contents):
        return Missing(lacks)
    place({path: ray.get(contents[path]) for path in lacks}, call.files)
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
    if _PRCTL is not None:
        _PRCTL(_PR_SET_PDEATHSIG, signal.SIGTERM)
