"""The batch that every CRF reads, and its weights."""

import numpy as np

BATCH, TIME = 32, 40


def example(num_tags: int) -> tuple:
    """Logits, tags and lengths of a batch of ragged sentences, and the transitions' scores.

    The scores of first and last tags, which Addons does not have, are zero for everybody.
    """
    random = np.random.RandomState(0)
    lengths = random.randint(1, TIME + 1, size=BATCH).astype("int32")
    lengths[0] = TIME
    logits = random.normal(size=(BATCH, TIME, num_tags)).astype("float32")
    tags = random.randint(0, num_tags, size=(BATCH, TIME))
    transitions = random.normal(scale=0.5, size=(num_tags, num_tags)).astype("float32")
    return logits, tags, lengths, transitions


def padded(paths: list[list[int]]) -> np.ndarray:
    """Best paths as `[BATCH, TIME]`, −1 after their ends."""
    rows = np.full((BATCH, TIME), -1)
    for row, path in zip(rows, paths, strict=True):
        row[: len(path)] = path
    return rows
