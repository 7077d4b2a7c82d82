"""What the children of benchmarks/crf.py share: the example, and answering what is asked."""

import json
import sys
import time

import numpy as np

BATCH, TIME, THREADS, CALLS = 32, 40, 2, 15


def example(num_tags: int) -> tuple:
    """Logits, tags and lengths of a batch of ragged sentences."""
    random = np.random.RandomState(0)
    lengths = random.randint(1, TIME + 1, size=BATCH).astype("int32")
    lengths[0] = TIME
    logits = random.normal(size=(BATCH, TIME, num_tags)).astype("float32")
    return logits, random.randint(0, num_tags, size=(BATCH, TIME)), lengths


def answer(operations: dict) -> None:
    """For each line `NAME TAGS` on stdin, the milliseconds of some calls as JSON on stdout."""
    made = {}
    for line in sys.stdin:
        name, num_tags = line.split()
        if line not in made:
            made[line] = operations[name](int(num_tags))
            made[line]()
        milliseconds = []
        for _ in range(CALLS):
            start = time.perf_counter()
            made[line]()
            milliseconds.append(1000 * (time.perf_counter() - start))
        print(json.dumps(milliseconds), flush=True)
