"""A child without libraries, which says what it was asked."""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks" / "children"))
from answering import Work, answer  # noqa: E402

turns = []


def prepared(job):
    print("a library prints on stdout", flush=True)
    if job.get("missing"):
        import no_such_library  # noqa: F401
    held = []

    def run(turn):
        if job.get("fails_in_turn") == turn and turn is not None:
            raise ValueError("the cat is on the keyboard")
        turns.append(turn)
        held[:] = [bytearray(job.get("megabytes", 0) * 1_000_000)]
        held.clear()
        return len(turns)

    return Work(
        run,
        lambda count: {"value": np.array(job.get("value", 1.0)), "ids": np.array([1, 2])},
        amount=job.get("amount"),
        note=lambda count: f"turns {turns}",
    )


if __name__ == "__main__":
    answer(prepared)
