"""Runs the runs of a comparison, each as a process of its own, and waits for them.

A process a run keeps peak memory apart, survives the crash of another, and is exactly the command
that the report shows. What is finished is never run again; a run that was cut off goes on.
"""

import os
import subprocess
import sys
import time
from pathlib import Path

from tf_adapt import errors, run_folder
from tf_adapt.comparison.display import Display
from tf_adapt.comparison.runs import CellRun, Outcomes, remember_failure
from tf_adapt.errors import ArtifactError, TrainingError

POLL_SECONDS, GRACE_SECONDS = 0.2, 60.0
_ERRORS = {
    error.exit_code: error for error in (errors.ConfigError, errors.DataError, errors.ArtifactError)
}


def run_all(outcomes: Outcomes, jobs: int, cache: Path, display: Display) -> None:
    """Runs what is still to do, `jobs` at a time, until nothing is.

    Raises:
        TfAdaptError: what stopped a run, but for numbers that are not finite: that is a result.
        KeyboardInterrupt, SystemExit: after a signal, once the runs have saved their state.
    """
    running: dict[Path, tuple[CellRun, subprocess.Popen]] = {}
    try:
        while True:
            for run in outcomes.waiting():
                if len(running) == jobs:
                    break
                if run.folder not in running and not _is_held(run, display):
                    running[run.folder] = (run, _start(run, jobs, cache))
            if not running and next(outcomes.waiting(), None) is None:
                return
            display.update(outcomes, [run for run, _ in running.values()])
            time.sleep(POLL_SECONDS)
            for folder, (run, process) in list(running.items()):
                if process.poll() is not None:
                    del running[folder]
                    _settle(run, process.returncode, jobs)
                    display.finished(outcomes, run)
    finally:
        _stop([process for _, process in running.values()])


def _start(run: CellRun, jobs: int, cache: Path) -> subprocess.Popen:
    run.log.parent.mkdir(parents=True, exist_ok=True)
    environment = dict(os.environ)
    if jobs > 1:  # else each process would take all cores for itself
        threads = str(max(1, (os.cpu_count() or 1) // jobs))
        environment |= {"TF_NUM_INTRAOP_THREADS": threads, "TF_NUM_INTEROP_THREADS": threads}
    with open(run.log, "ab") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "tf_adapt", *run.arguments(cache)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=environment,
            # Ctrl-C reaches this process alone, which passes it on once.
            start_new_session=True,
        )


def _settle(run: CellRun, code: int, jobs: int) -> None:
    """What the end of a run's process means.

    Raises:
        TfAdaptError: it ended for another reason than its numbers.
    """
    if code == 0:
        return
    lines = run.log.read_text("utf-8", "replace").splitlines() or ["no message"]
    name, _, message = lines[-1].partition(": ")
    if code == TrainingError.exit_code:
        remember_failure(run, message)
        return
    if code in _ERRORS:
        raise _ERRORS[code](f"run {run.folder}: {message}")
    if code < 0:
        raise TrainingError(
            f"run {run.folder}: its process was ended by signal {-code}; if memory ran out, use "
            f"fewer --jobs (now {jobs}); the same command goes on where it stopped"
        )
    raise TrainingError(f"run {run.folder}: ended with {name}: {message}; see {run.log}")


def _is_held(run: CellRun, display: Display) -> bool:
    """Whether a process that outlived an earlier comparison is still at work on a run."""
    try:
        with run_folder.locked(run.folder):
            return False
    except ArtifactError as error:
        if "in use by" not in str(error):
            raise
        display.say_once(f"waiting: {error}")
        return True


def _stop(processes: list[subprocess.Popen]) -> None:
    """Asks processes to save and end; those that do not are killed, and lose one epoch at most."""
    for process in processes:
        process.terminate()
    deadline = time.monotonic() + GRACE_SECONDS
    for process in processes:
        try:
            process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
