"""Runs that have ended on another machine, whose results are not seen here yet.

A network file system shows a new file late: NFS keeps what it knows of a folder for up to a minute,
unless the folder is listed.
"""

import contextlib
import os
import time
from collections.abc import Callable

from tf_adapt.comparison.execution.runs import CellRun

SHOWN_SECONDS = 60.0


class LateResults:
    """Ended runs with their exit codes, each until its result is seen, or its time is over."""

    def __init__(self):
        self.waiting: list[tuple[CellRun, int, float]] = []

    def add(self, run: CellRun, code: int) -> None:
        """Adds a run that has ended."""
        self.waiting.append((run, code, time.monotonic() + SHOWN_SECONDS))

    @property
    def runs(self) -> list[CellRun]:
        """Those that wait."""
        return [run for run, _, _ in self.waiting]

    def seen(self, is_finished: Callable[[CellRun], bool]) -> list[tuple[CellRun, int]]:
        """Those that wait no longer; a run that failed has no result to wait for."""
        over = [
            (run, code, until)
            for run, code, until in self.waiting
            if code != 0 or _is_seen(run, is_finished) or time.monotonic() > until
        ]
        self.waiting = [late for late in self.waiting if late not in over]
        return [(run, code) for run, code, _ in over]


def _is_seen(run: CellRun, is_finished: Callable[[CellRun], bool]) -> bool:
    for folder in (run.folder.parent, run.folder):
        with contextlib.suppress(OSError):
            os.listdir(folder)
    return is_finished(run)
