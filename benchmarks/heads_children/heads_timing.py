"""What the children of benchmarks/heads.py share: the example, and answering what is asked."""

import json
import sys
import time

import numpy as np

WIDTH, LAYERS, BATCH, CLASSES, THREADS, CALLS = 1024, 3, 32, 3, 2, 5
# Words of the longest text: of both texts of a pair (as in SNLI), of a sentence (as in SST).
TIMES = {"esim": (24, 24), "bcn": (30,)}
SHORTEST = 5


def example(head: str) -> tuple[list[tuple], np.ndarray]:
    """For each text `(layers [LAYERS, BATCH, time, WIDTH], lengths [BATCH])`; labels `[BATCH]`."""
    random = np.random.RandomState(0)
    texts = []
    for time_ in TIMES[head]:
        lengths = random.randint(SHORTEST, time_ + 1, size=BATCH)
        lengths[0] = time_
        texts.append((random.normal(size=(LAYERS, BATCH, time_, WIDTH)).astype("float32"), lengths))
    return texts, random.randint(0, CLASSES, size=BATCH)


def answer(prepared) -> None:
    """For each line `HEAD UNITS` on stdin, the milliseconds of some steps as JSON on stdout.

    `prepared(head, units)` gives a function that does one step and waits for its end.
    """
    made = {}
    for line in sys.stdin:
        head, units = line.split()
        if line not in made:
            # One head at a time: the last one's memory is given back first.
            made = {line: prepared(head, int(units))}
            made[line]()
        made[line]()
        milliseconds = []
        for _ in range(CALLS):
            start = time.perf_counter()
            made[line]()
            milliseconds.append(1000 * (time.perf_counter() - start))
        print(json.dumps(milliseconds), flush=True)
