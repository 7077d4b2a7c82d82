"""Time of the CRF beside pytorch-crf and TensorFlow Addons, on this machine, in one run.

    TF_ADAPT_ORACLES_PYTHON=… TF_ADAPT_ADDONS_PYTHON=… python benchmarks/crf.py

The two variables name the interpreters of requirements/oracles.txt and requirements/addons.txt; a
library without its variable is left out. A batch is 32 sentences of 1 to 40 words (the same ones
for everybody), 9 or 41 tags, two threads. Measured are the loss with its gradient by the logits and
all weights of the CRF, and the best paths (Viterbi). Ours and Addons' run in a `tf.function` of
unknown batch and time, pytorch-crf eagerly, as its users run it. Addons' has no start and end
scores.

The libraries take turns. Printed is the fastest call of each (other load on the machine slows some
libraries more than others), and how many times ours that is.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

ROUNDS = 7
LIBRARIES = {
    "ours": ("crf_ours.py", sys.executable),
    "pytorch-crf": ("crf_pytorch.py", os.environ.get("TF_ADAPT_ORACLES_PYTHON")),
    "addons": ("crf_addons.py", os.environ.get("TF_ADAPT_ADDONS_PYTHON")),
}
OPERATIONS = [(name, num_tags) for name in ("loss", "best_path") for num_tags in (9, 41)]


def start(script: str, python: str) -> subprocess.Popen:
    """A process that measures one library when asked."""
    path = Path(__file__).parent / "crf_children" / script
    environment = os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3", "OMP_NUM_THREADS": "2"}
    return subprocess.Popen(
        [python, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=environment,
    )


def measure(child: subprocess.Popen, operation: str, num_tags: int) -> float:
    """Milliseconds of the fastest call of one round."""
    child.stdin.write(f"{operation} {num_tags}\n")
    child.stdin.flush()
    answer = child.stdout.readline()
    if not answer:
        raise SystemExit(f"{child.args} ended; run it by hand and type: {operation} {num_tags}")
    return min(json.loads(answer))


def main() -> None:
    """Prints the table, row by row."""
    children = {name: start(*how) for name, how in LIBRARIES.items() if how[1]}
    print("".join(f"{title:>14}" for title in ("operation", "tags", *children, "ratios")))
    for operation, num_tags in OPERATIONS:
        rounds = [
            {name: measure(child, operation, num_tags) for name, child in children.items()}
            for _ in range(ROUNDS)
        ]
        times = {name: min(each[name] for each in rounds) for name in children}
        ratios = [f"{times[name] / times['ours']:.2f}" for name in children if name != "ours"]
        cells = [operation, str(num_tags), *(f"{time:.2f} ms" for time in times.values())]
        print("".join(f"{cell:>14}" for cell in [*cells, " ".join(ratios)]), flush=True)
    for child in children.values():
        child.stdin.close()
        child.wait()


if __name__ == "__main__":
    main()
