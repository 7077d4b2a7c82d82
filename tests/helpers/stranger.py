"""A process without our code, which is asked about exports."""

import json
import subprocess
import sys
from typing import Any


def told(program: str, requests: Any) -> Any:
    """What a program of Python alone answers: JSON on its standard input and output."""
    done = subprocess.run(
        [sys.executable, "-I", "-c", program],
        input=json.dumps(requests),
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
