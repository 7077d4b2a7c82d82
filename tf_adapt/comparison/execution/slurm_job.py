"""A run as a job of Slurm: what submitit calls on a node.

Before a job's time is over, or where others go first, Slurm sends a signal to all of its processes:
the run then saves its state, and the job is put into the queue again.
"""

import json
import os
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path

from hub_modules.storage.files import write_text
from tf_adapt.comparison.execution.node_process import end, start, wait

# Exit codes from here on are those of commands that a signal has ended.
ENDED_BY_SIGNAL = 128


@dataclass(frozen=True)
class Call:
    """The content of the file that a job is given.

    Attributes:
        arguments: of `tf-adapt`.
        log, exit: files for its output, and for its exit code.
        threads: that it may use.
    """

    arguments: list[str]
    log: str
    exit: str
    threads: int


class RunAsJob:
    """One run in a process of its own.

    It is pickled by submitit, and holds nothing; what is to be done is in a file.
    """

    def __init__(self):
        self.process: subprocess.Popen | None = None

    def __call__(self, path: str) -> int:
        """Executes the command of a file; its exit code."""
        call = Call(**json.loads(Path(path).read_text("utf-8")))
        # The signal goes to it, too, and would end it before it has saved anything.
        self.process = start(call.arguments, call.log, call.threads, _ignore_signal)
        code = wait(self.process)
        # Ended by a signal (its node is lost, others go first): the job is put into the queue
        # again, by Slurm or by the comparison.
        if 0 <= code < ENDED_BY_SIGNAL:
            write_text(Path(call.exit), f"{code}\n")
        return code

    def checkpoint(self, path: str):
        """Ends the run, which saves its state; what submitit puts into the queue again."""
        from submitit.helpers import DelayedSubmission

        if self.process is not None:
            end(self.process)
        return DelayedSubmission(RunAsJob(), path)


def _ignore_signal() -> None:
    name = os.environ.get("SUBMITIT_PREEMPT_SIGNAL", "USR2")
    signal.signal(getattr(signal, f"SIG{name}"), signal.SIG_IGN)
