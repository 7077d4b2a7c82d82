"""Executes the runs of a comparison by an executor.

Each run is exactly the command that the report shows. Finished runs are not repeated; interrupted
ones resume.
"""

import time
from collections.abc import Callable

from tf_adapt import errors
from tf_adapt.comparison.execution.display import Display
from tf_adapt.comparison.execution.executors import Executor
from tf_adapt.comparison.execution.outcomes import Outcomes
from tf_adapt.comparison.execution.runs import CellRun, remember_failure
from tf_adapt.errors import ArtifactError, TrainingError
from tf_adapt.runs import run_folder

_KINDS = (errors.ConfigError, errors.DataError, errors.ArtifactError, errors.TrainingError)
Until = Callable[[], bool]
_ERRORS = {kind.exit_code: kind for kind in _KINDS}


def run_all(
    outcomes: Outcomes,
    executor: Executor,
    display: Display,
    until: Until | None = None,
) -> None:
    """Executes all unfinished runs.

    Args:
        until: ends it before, once it holds; runs under way save their state.

    Raises:
        TfAdaptError: a run failed; divergence is a result, not a failure.
        KeyboardInterrupt, SystemExit: after a signal, once the runs have saved their state.
    """
    try:
        executor.adopt(list(outcomes.waiting()))
        while True:
            _hand_over(outcomes, executor, display)
            if not executor.running and next(outcomes.waiting(), None) is None:
                return
            display.update(outcomes, executor.running)
            time.sleep(executor.poll_seconds)
            for run, code in executor.ended(lambda run: outcomes.metrics(run) is not None):
                _settle(outcomes, run, code)
                display.finished(outcomes, run)
            if executor.waits_for is not None:
                display.say_once(executor.waits_for)
            if until is not None and until():
                return
    finally:
        executor.stop()


def _hand_over(outcomes: Outcomes, executor: Executor, display: Display) -> None:
    """Starts as many runs as the executor takes."""
    held: list[CellRun] = []
    while executor.room > len(held):
        taken = {run.folder for run in (*held, *executor.running)}
        waiting = [run for run in outcomes.waiting() if run.folder not in taken]
        if not waiting:
            break
        run = executor.choice(waiting)
        if _is_held(run, display):
            held.append(run)
        else:
            executor.start(run)
    executor.flush()


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
