"""The states and labels that every head reads."""

import numpy as np

WIDTH, LAYERS, BATCH, CLASSES = 1024, 3, 32, 3
# Words of the longest text: of both texts of a pair (as in SNLI), of a sentence (as in SST).
TIMES = {"esim": (24, 24), "bcn": (30,)}
SHORTEST = 5


def example(head: str) -> tuple[list[tuple], np.ndarray]:
    """For each text `(layers [LAYERS, BATCH, time, WIDTH], lengths [BATCH])`; labels `[BATCH]`."""
    random = np.random.RandomState(0)
    texts = []
    for time in TIMES[head]:
        lengths = random.randint(SHORTEST, time + 1, size=BATCH)
        lengths[0] = time
        texts.append((random.normal(size=(LAYERS, BATCH, time, WIDTH)).astype("float32"), lengths))
    return texts, random.randint(0, CLASSES, size=BATCH)
