"""A run as a process on a node of a cluster, of its own, since TensorFlow keeps the memory of a
GPU."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence

from hub_modules.storage.machine import thread_variables

POLL_SECONDS, GRACE_SECONDS = 0.2, 60.0


def start(
    arguments: Sequence[str], log: str, threads: int, before: Callable[[], None]
) -> subprocess.Popen:
    """Starts a command of `tf-adapt`, whose output is appended to a log.

    Args:
        threads: that it may use.
        before: called in the process before the command.
    """
    with open(log, "ab") as file:
        return subprocess.Popen(
            # -P: do not import from the current folder, which may hold a click.py.
            [sys.executable, "-P", "-m", "tf_adapt", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
            env=os.environ | thread_variables(threads),
            preexec_fn=before,
        )


def wait(process: subprocess.Popen, seconds: float | None = None) -> int | None:
    """The exit code of a process; None: it has not ended in that time.

    Not `Popen.wait`, which holds a lock that the handler of a signal needs.
    """
    deadline = None if seconds is None else time.monotonic() + seconds
    while process.poll() is None and (deadline is None or time.monotonic() < deadline):
        time.sleep(POLL_SECONDS)
    return process.returncode


def end(process: subprocess.Popen) -> None:
    """Asks a run to save its state and to end; kills it after `GRACE_SECONDS`, which loses at most
    one epoch."""
    process.terminate()
    if wait(process, GRACE_SECONDS) is None:
        process.kill()
        wait(process)
