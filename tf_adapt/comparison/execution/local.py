"""Executes runs on this machine, those of a cell sequentially in one subprocess.

One process for each cell: peak memory is measured separately, crashes are isolated, and train steps
are traced once.
"""

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from hub_modules.storage.machine import thread_variables
from tf_adapt.comparison.execution.runs import CellRun, log_of

GRACE_SECONDS = 60.0


@dataclass
class Worker:
    """A process, its current run, and the GPUs that it sees (None: there are none)."""

    process: subprocess.Popen
    run: CellRun
    gpus: str | None = None


class LocalExecutor:
    """Processes on this machine.

    Args:
        gpus: for each process at a time the `CUDA_VISIBLE_DEVICES`; None: as it is.
        threads: of each process.
        cache: folder of the features of frozen encoders.
    """

    poll_seconds = 0.05  # a run may take a second
    waits_for = None

    def __init__(self, gpus: Sequence[str | None], threads: int, cache: Path):
        self.gpus, self.threads, self.cache = list(gpus), threads, cache
        self.at_work: list[Worker] = []
        self.idle: list[Worker] = []

    @property
    def running(self) -> list[CellRun]:
        """The runs at work."""
        return [worker.run for worker in self.at_work]

    @property
    def room(self) -> int:
        """Processes that may begin a run."""
        return len(self.gpus) - len(self.at_work)

    def choice(self, waiting: Sequence[CellRun]) -> CellRun:
        """One of the cell of an idle worker; else of a cell without a worker, since a second worker
        of a cell would trace the same steps again."""
        for worker in self.idle:
            for run in waiting:
                if run.cell.name == worker.run.cell.name:
                    return run
        busy = {worker.run.cell.name for worker in self.at_work}
        return next((run for run in waiting if run.cell.name not in busy), waiting[0])

    def adopt(self, runs: Sequence[CellRun]) -> None:
        """None: runs end with the comparison."""

    def start(self, run: CellRun) -> None:
        """Hands a run to the idle worker of its cell, else to a new one."""
        worker = next((idle for idle in self.idle if idle.run.cell.name == run.cell.name), None)
        if worker is None:
            gpus = self._free_gpus()
            worker = Worker(_start(run, self.threads, gpus), run, gpus)
        else:
            self.idle.remove(worker)
            worker.run = run
        self.at_work.append(worker)  # before the hand-over, so that a signal stops it too
        _hand_over(worker, self.cache)

    def flush(self) -> None:
        """Ends the idle workers."""
        _stop(self.idle)
        self.idle.clear()

    def ended(self, is_finished: Callable[[CellRun], bool]) -> list[tuple[CellRun, int]]:
        """The runs that are finished, or whose process has ended."""
        found = []
        for worker in list(self.at_work):
            code = worker.process.poll()
            if code is not None or is_finished(worker.run):
                self.at_work.remove(worker)
                self.idle += [worker] if code is None else []
                found.append((worker.run, code or 0))
        return found

    def stop(self) -> None:
        """Ends all workers; those at work save their state."""
        _stop([*self.at_work, *self.idle])

    def _free_gpus(self) -> str | None:
        """The GPUs of a new worker. An idle one of another cell gives its own up first, since its
        process holds their memory."""
        left = list(self.gpus)
        for worker in (*self.at_work, *self.idle):
            if worker.gpus in left:
                left.remove(worker.gpus)
        if left:
            return left[0]
        first = self.idle.pop(0)
        _stop([first])
        return first.gpus


def _start(run: CellRun, threads: int, gpus: str | None = None) -> subprocess.Popen:
    changed = thread_variables(threads)
    if gpus is not None:
        # Without growth TensorFlow takes all memory of a GPU, which another run may share.
        changed |= {"CUDA_VISIBLE_DEVICES": gpus, "TF_FORCE_GPU_ALLOW_GROWTH": "true"}
    with log_of(run) as log:
        return subprocess.Popen(
            # -P: do not import from the current folder, which may hold a click.py.
            [sys.executable, "-P", "-m", "tf_adapt.commands.worker"],
            stdin=subprocess.PIPE,
            bufsize=0,
            stdout=log,
            stderr=log,
            env=os.environ | changed,
            # Ctrl-C reaches only this process, which then stops the workers.
            start_new_session=True,
        )


def _hand_over(worker: Worker, cache: Path) -> None:
    run = worker.run
    with log_of(run):
        line = json.dumps([run.arguments(cache), str(run.log)]) + "\n"
    with contextlib.suppress(BrokenPipeError):  # it has ended; its exit code is checked later
        worker.process.stdin.write(line.encode())


def _stop(workers: Sequence[Worker]) -> None:
    """Terminates workers, which save their state; kills them after `GRACE_SECONDS`, which loses
    at most one epoch."""
    for worker in workers:
        worker.process.terminate()
    deadline = time.monotonic() + GRACE_SECONDS
    for worker in workers:
        try:
            worker.process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            worker.process.kill()
            worker.process.wait()
        with contextlib.suppress(BrokenPipeError):
            worker.process.stdin.close()
