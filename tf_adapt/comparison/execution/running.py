"""Executes the runs of a comparison, those of a cell sequentially in one subprocess.

One process for each cell: peak memory is measured separately, crashes are isolated, and train steps
are traced once. Each run is exactly the command that the report shows. Finished runs are not
repeated; interrupted ones resume.
"""

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from tf_adapt import errors
from tf_adapt.comparison.execution.display import Display
from tf_adapt.comparison.execution.outcomes import Outcomes
from tf_adapt.comparison.execution.runs import CellRun, remember_failure
from tf_adapt.errors import ArtifactError, TrainingError
from tf_adapt.runs import run_folder

POLL_SECONDS, GRACE_SECONDS = 0.2, 60.0
_KINDS = (errors.ConfigError, errors.DataError, errors.ArtifactError, errors.TrainingError)
_ERRORS = {kind.exit_code: kind for kind in _KINDS}


@dataclass
class Worker:
    """A process and its current run."""

    process: subprocess.Popen
    run: CellRun


def run_all(outcomes: Outcomes, jobs: int, threads: int, cache: Path, display: Display) -> None:
    """Executes all unfinished runs, `jobs` processes at a time.

    Args:
        threads: of each process; scores depend on them in the last bits.
        cache: folder of the features of frozen encoders.

    Raises:
        TfAdaptError: a run failed; divergence is a result, not a failure.
        KeyboardInterrupt, SystemExit: after a signal, once the runs have saved their state.
    """
    at_work: list[Worker] = []
    idle: list[Worker] = []
    try:
        while True:
            held: list[CellRun] = []
            while len(at_work) + len(held) < jobs:
                taken = {run.folder for run in (*held, *(worker.run for worker in at_work))}
                waiting = [run for run in outcomes.waiting() if run.folder not in taken]
                if not waiting:
                    break
                run, worker = _next(waiting, at_work, idle)
                if _is_held(run, display):
                    held.append(run)
                    continue
                if worker is None:
                    worker = Worker(_start(run, threads), run)
                else:
                    idle.remove(worker)
                    worker.run = run
                at_work.append(worker)  # before the hand-over, so that a signal stops it too
                _hand_over(worker, cache)
            _stop(idle)
            idle.clear()
            if not at_work and next(outcomes.waiting(), None) is None:
                return
            display.update(outcomes, [worker.run for worker in at_work])
            time.sleep(POLL_SECONDS)
            for worker in list(at_work):
                code = worker.process.poll()
                if code is not None or outcomes.metrics(worker.run) is not None:
                    at_work.remove(worker)
                    idle += [worker] if code is None else []
                    _settle(outcomes, worker.run, code or 0)
                    display.finished(outcomes, worker.run)
    finally:
        _stop([*at_work, *idle])


def check_ended(what: str, code: int, output: str) -> None:
    """Raises the error of a `tf-adapt` command that failed.

    Args:
        what: the command, for the message.
        code: its exit code; −n for signal n.
        output: its stderr, or its log.

    Raises:
        TfAdaptError: of the class of the command's error; TrainingError for a signal or a bug.
    """
    if code == 0:
        return
    name, _, message = _last_line(output).partition(": ")
    if code in _ERRORS:
        raise _ERRORS[code](f"{what}: {message}")
    if code < 0:
        raise TrainingError(
            f"{what}: its process was ended by signal {-code}; if memory ran out, use fewer --jobs;"
            " the same command goes on where it stopped"
        )
    raise TrainingError(f"{what}: ended with {name}: {message}")


def _next(
    waiting: Sequence[CellRun], at_work: Sequence[Worker], idle: Sequence[Worker]
) -> tuple[CellRun, Worker | None]:
    """The next run, and the idle worker of its cell; None: start a new worker.

    Cells without a worker come first: a second worker would trace the same steps again.
    """
    for worker in idle:
        for run in waiting:
            if run.cell.name == worker.run.cell.name:
                return run, worker
    busy = {worker.run.cell.name for worker in at_work}
    return next((run for run in waiting if run.cell.name not in busy), waiting[0]), None


def _start(run: CellRun, threads: int) -> subprocess.Popen:
    names = ("TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS")
    with _log_of(run) as log:
        return subprocess.Popen(
            # -P: do not import from the current folder, which may hold a click.py.
            [sys.executable, "-P", "-m", "tf_adapt.commands.worker"],
            stdin=subprocess.PIPE,
            bufsize=0,
            stdout=log,
            stderr=log,
            env=os.environ | dict.fromkeys(names, str(threads)),
            # Ctrl-C reaches only this process, which then stops the workers.
            start_new_session=True,
        )


def _hand_over(worker: Worker, cache: Path) -> None:
    run = worker.run
    with _log_of(run):
        line = json.dumps([run.arguments(cache), str(run.log)]) + "\n"
    with contextlib.suppress(BrokenPipeError):  # it has ended; its exit code is checked later
        worker.process.stdin.write(line.encode())


@contextlib.contextmanager
def _log_of(run: CellRun) -> Iterator[IO[bytes]]:
    """A run's log, opened for appending."""
    try:
        run.log.parent.mkdir(parents=True, exist_ok=True)
        with open(run.log, "ab") as log:
            yield log
    except OSError as error:
        raise ArtifactError(
            f"{run.log}: the run cannot be started ({error.strerror}); free space or memory, or "
            "choose another --out"
        ) from None


def _settle(outcomes: Outcomes, run: CellRun, code: int) -> None:
    """Checks how a run ended, and records divergence."""
    output = run.log.read_text("utf-8", "replace")
    if code == TrainingError.exit_code and not outcomes.is_start(run):
        remember_failure(run, _last_line(output))
        return
    check_ended(f"run {run.folder}", code, output)
    if outcomes.metrics(run) is None:
        raise TrainingError(f"run {run.folder}: ended without a result; see {run.log}")


def _last_line(output: str) -> str:
    return (output.strip() or "no message").split("\n")[-1]


def _is_held(run: CellRun, display: Display) -> bool:
    """Whether a process of an earlier, interrupted comparison still holds the run's lock; an
    ensemble has none, since its folder appears as a whole."""
    if run.together:
        return False
    try:
        with run_folder.locked(run.folder):
            return False
    except ArtifactError as error:
        if "in use by" not in str(error):
            raise
        display.say_once(f"waiting: {error}")
        return True


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
