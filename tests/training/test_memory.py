"""The peak of a process's memory: its own, and from when it was asked to begin."""

import subprocess
import sys

import numpy as np

from tf_adapt.training.results.memory import forget_peak, peak_memory

MEGABYTE = 10**6
LARGE_PARENT = """
import subprocess, sys
memory = b"x" * 1_500_000_000
print(subprocess.run([sys.executable, "-c", sys.argv[1]], capture_output=True, text=True).stdout)
"""
# TensorFlow, which is asked for GPUs alone, would take seconds to import.
CHILD = """
import sys
from unittest.mock import MagicMock
sys.modules["tensorflow"] = MagicMock()
from tf_adapt.training.results.memory import peak_memory
memory = b"x" * 200_000_000
print(peak_memory()["peak_memory_mb"])
"""


def test_that_of_the_program_which_started_it_is_left_out():
    done = subprocess.run(
        [sys.executable, "-c", LARGE_PARENT, CHILD], capture_output=True, text=True
    )
    assert 200 < float(done.stdout) < 1000, done.stderr


def test_it_begins_anew():
    held = np.ones(400 * MEGABYTE, np.uint8)
    with_it = peak_memory()["peak_memory_mb"]
    del held
    forget_peak()
    assert peak_memory()["peak_memory_mb"] < with_it - 300
