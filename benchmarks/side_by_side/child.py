"""A child: a process in another environment that does one piece of work when asked.

One JSON object a line goes in, one comes out: see `benchmarks/children/answering.py`. A child that
cannot go on ends; what it last wrote on stderr says why.
"""

import json
import subprocess
import tempfile
from typing import Any

from benchmarks.side_by_side.environments import (
    CHILDREN,
    how_to_install,
    interpreter,
    variables,
)
from benchmarks.side_by_side.measurement import Contestant


class NoAnswerError(Exception):
    """A child is not there, or has ended; the message is for the page."""


class Child:
    """A running child. It stays alive between turns, so that its start is in no measurement.

    Raises:
        NoAnswerError: its environment is not there.
    """

    def __init__(self, script: str, environment: str):
        self.environment = environment
        python = interpreter(environment)
        if python is None:
            raise NoAnswerError(how_to_install(environment))
        self.errors = tempfile.TemporaryFile(mode="w+")  # noqa: SIM115  (closed by `close`)
        self.process = subprocess.Popen(
            [python, str(CHILDREN / script)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            text=True,
            env=variables(),
        )

    def ask(
        self, job: dict, turn: int | None, calls: int = 1, outputs: str | None = None
    ) -> dict[str, Any]:
        """The answer to one request; `turn` None: a warm-up, which may be shorter.

        Raises:
            NoAnswerError: the child has ended.
        """
        request = {"job": job, "turn": turn, "calls": calls, "outputs": outputs}
        try:
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
        except OSError:
            pass  # it has ended: so there is no answer
        answer = self.process.stdout.readline()
        if not answer:
            self.process.wait()
            raise NoAnswerError(self._last_words())
        return json.loads(answer)

    def _last_words(self) -> str:
        self.errors.seek(0)
        lines = [line for line in self.errors.read().splitlines() if line.strip()]
        last = lines[-1] if lines else f"ended with code {self.process.returncode}"
        if "ModuleNotFoundError" in last:
            return f"{how_to_install(self.environment)} ({last})"
        return f"failed: {last}"

    def close(self) -> None:
        """Ends it."""
        self.process.stdin.close()
        self.process.stdout.close()
        try:
            self.process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.errors.close()


def ask_once(script: str, environment: str, job: dict) -> dict[str, Any]:
    """One answer of a child that lives for it alone.

    Raises:
        NoAnswerError: as `Child`.
    """
    child = Child(script, environment)
    try:
        return child.ask(job, turn=0)
    finally:
        child.close()


def start(contestant: Contestant) -> Child:
    """The process of a contestant.

    Raises:
        NoAnswerError: its environment is not there.
    """
    return Child(contestant.script, contestant.environment)
