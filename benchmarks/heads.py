"""Time of a training step of ESIM and BCN beside PyTorch, on this machine, in one run.

    TF_ADAPT_ORACLES_PYTHON=… python benchmarks/heads.py

The variable names the interpreter of requirements/oracles.txt. A step is forward, backward and
Adam's update of the head alone, with dropout, in float32 with two threads, on the given states of
an encoder of three layers of width 1024: 32 pairs of texts of 5 to 24 words (ESIM), 32 sentences of
5 to 30 words (BCN), the same for everybody. Ours runs in a `tf.function` of unknown batch and time,
PyTorch's eagerly, with `pack_padded_sequence` around each LSTM (as AllenNLP does) and without (in
which case the backward LSTM reads padding first: that column is for its time only).

The libraries take turns, so that other load on the machine hits all of them. Printed is the median
over the rounds of each round's median, and how many times ours another's is.
"""

import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

ROUNDS = 7
PYTORCH = os.environ.get("TF_ADAPT_ORACLES_PYTHON")
LIBRARIES = {
    "ours": (sys.executable, "heads_ours.py"),
    "PyTorch": (PYTORCH, "heads_pytorch.py"),
    "not packed": (PYTORCH, "heads_pytorch.py", "padded"),
}
STEPS = [(head, units) for head in ("esim", "bcn") for units in (300, 100)]


def start(python: str, script: str, *arguments: str) -> subprocess.Popen:
    """A child that answers lines on its stdin."""
    path = Path(__file__).parent / "heads_children" / script
    return subprocess.Popen(
        [python, str(path), *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3", "OMP_NUM_THREADS": "2"},
    )


def measure(child: subprocess.Popen, head: str, units: int) -> float:
    """Median milliseconds of one round."""
    child.stdin.write(f"{head} {units}\n")
    child.stdin.flush()
    answer = child.stdout.readline()
    if not answer:
        raise SystemExit(f"{child.args} ended; run it by hand and type: {head} {units}")
    return statistics.median(json.loads(answer))


def main() -> None:
    """Prints a line for each head and width."""
    if not PYTORCH:
        raise SystemExit("TF_ADAPT_ORACLES_PYTHON is not set: there is nothing to compare with")
    children = {name: start(*how) for name, how in LIBRARIES.items()}
    print("".join(f"{title:>14}" for title in ("head", "units", *children, "ratios")))
    for head, units in STEPS:
        rounds = [
            {name: measure(child, head, units) for name, child in children.items()}
            for _ in range(ROUNDS)
        ]
        times = {name: statistics.median(each[name] for each in rounds) for name in children}
        ratios = [f"{times[name] / times['ours']:.2f}" for name in children if name != "ours"]
        cells = [head, str(units), *(f"{time:.1f} ms" for time in times.values())]
        print("".join(f"{cell:>14}" for cell in [*cells, " ".join(ratios)]), flush=True)
    for child in children.values():
        child.stdin.close()
        child.wait()


if __name__ == "__main__":
    main()
