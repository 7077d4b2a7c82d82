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
_KINDS = (errors.ConfigError, errors.DataError, errors.ArtifactError, errors.TrainingError)
_ERRORS = {kind.exit_code: kind for kind in _KINDS}


def run_all(outcomes: Outcomes, jobs: int, threads: int, cache: Path, display: Display) -> None:
    """Runs what is still to do, `jobs` at a time, until nothing is.

    Args:
        threads: of each process; results depend on them in their last bits.
        cache: folder of the features of frozen encoders.

    Raises:
        TfAdaptError: what stopped a run, but for numbers that are not finite: that is a result.
        KeyboardInterrupt, SystemExit: after a signal, once the runs have saved their state.
    """
    running: dict[Path, tuple[CellRun, subprocess.Popen]] = {}
    try:
        while True:
            held = 0
            for run in outcomes.waiting():
                if len(running) + held >= jobs:
                    break
                if run.folder in running:
                    continue
                if _is_held(run, display):
                    held += 1
                else:
                    running[run.folder] = (run, _start(run, threads, cache))
            if not running and next(outcomes.waiting(), None) is None:
                return
            display.update(outcomes, [run for run, _ in running.values()])
            time.sleep(POLL_SECONDS)
            for folder, (run, process) in list(running.items()):
                if process.poll() is not None:
                    del running[folder]
                    _settle(outcomes, run, process.returncode)
                    display.finished(outcomes, run)
    finally:
        _stop([process for _, process in running.values()])


def check_ended(what: str, code: int, output: str) -> None:
    """Passes on what ended a command of ours.

    Raises:
        TfAdaptError: of the command's own kind; TrainingError for a signal or a bug.
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


def _start(run: CellRun, threads: int, cache: Path) -> subprocess.Popen:
    names = ("TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS")
    try:
        run.log.parent.mkdir(parents=True, exist_ok=True)
        with open(run.log, "ab") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "tf_adapt", *run.arguments(cache)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=os.environ | dict.fromkeys(names, str(threads)),
                # Ctrl-C reaches this process alone, which passes it on once.
                start_new_session=True,
            )
    except OSError as error:
        raise ArtifactError(
            f"{run.log}: the run cannot be started ({error.strerror}); free space or memory, or "
            "choose another --out"
        ) from None


def _settle(outcomes: Outcomes, run: CellRun, code: int) -> None:
    """What the end of a run's process means.

    Raises:
        TfAdaptError: it ended for another reason than its numbers.
    """
    output = run.log.read_text("utf-8", "replace")
    if code == TrainingError.exit_code:
        remember_failure(run, _last_line(output))
        return
    check_ended(f"run {run.folder}", code, output)
    if outcomes.metrics(run) is None:
        raise TrainingError(f"run {run.folder}: ended without a result; see {run.log}")


def _last_line(output: str) -> str:
    return (output.strip() or "no message").split("\n")[-1]


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
