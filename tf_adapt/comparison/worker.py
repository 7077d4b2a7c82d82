"""`python -m tf_adapt.comparison.worker`: commands of `tf-adapt`, one after the other.

Each line of stdin is JSON, `[arguments, log]`; what the command prints goes to the log. One that
fails ends the process with its code; the end of stdin ends it without. Runs that differ in seed and
learning rate alone share TensorFlow, data and traced steps: see `tf_adapt.reuse`.
"""

import json
import os
import sys

from tf_adapt.cli import cli, run


def work() -> None:
    """Does what stdin says."""
    kept: dict = {}  # from command to command
    for line in sys.stdin:
        arguments, log = json.loads(line)
        _print_to(log)
        try:
            cli(arguments, obj=kept)
        except SystemExit as end:
            if end.code:
                raise


def _print_to(log: str) -> None:
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    os.close(descriptor)


if __name__ == "__main__":
    run(work)
