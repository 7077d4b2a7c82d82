"""`python -m tf_adapt.commands.worker`: executes commands of `tf-adapt` sequentially.

Each line of stdin is JSON, `[arguments, log]`; the command's output is appended to the log. A
command that fails ends the process with its exit code; the end of stdin ends it with 0. Runs that
differ only in seed and learning rate share TensorFlow, data and traced steps: see
`tf_adapt.training.resolving.session`.
"""

import functools
import json
import os
import sys

from tf_adapt.commands.main import cli, run


def work() -> None:
    """Executes the commands on stdin."""
    for line in sys.stdin:
        arguments, log = json.loads(line)
        _print_to(log)
        try:
            cli(arguments, obj=_session)
        except SystemExit as end:
            if end.code:
                raise


@functools.cache
def _session():
    """The session of this process, created at the first training, after TensorFlow is imported."""
    from tf_adapt.training.resolving.session import Session

    return Session()


def _print_to(log: str) -> None:
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    os.close(descriptor)


if __name__ == "__main__":
    run(work)
