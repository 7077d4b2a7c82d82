"""A worker of a comparison in the process of the test: another would import TensorFlow first."""

import functools
import json
from pathlib import Path

from click.testing import CliRunner

from tf_adapt.commands.main import cli
from tf_adapt.training.resolving.session import Session


class WorkerHere:
    """In place of a process, for `local._start`; a command is executed when it is handed over."""

    def __init__(self, *given):
        self.stdin, self.code, self.session = self, None, functools.cache(Session)

    def write(self, line: bytes) -> None:
        """As `tf_adapt.commands.worker` does with a line of stdin."""
        arguments, log = json.loads(line)
        done = CliRunner().invoke(cli, arguments, obj=self.session)
        Path(log).write_text(done.output, "utf-8")
        self.code = done.exit_code or None

    def poll(self) -> int | None:
        return self.code

    def wait(self, timeout: float) -> int:
        return self.code or 0

    def terminate(self) -> None:
        """There is nothing to end."""

    close = terminate
