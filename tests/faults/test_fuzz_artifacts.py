"""Damaged modules, runs, exports and comparisons: see `fuzz_artifacts`."""

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("fuzz_artifacts.py")


@pytest.mark.slow
def test_damaged_artifacts_end_with_a_result_or_an_error_of_ours():
    """In a process of its own, which a crash would end; as many cases on a slow machine."""
    command = [sys.executable, str(PROGRAM), "1200", "3", "10"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]
    assert done.stdout.splitlines()[-1].startswith("10 cases")
