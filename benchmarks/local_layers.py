"""Peak memory of a training step by the length of a row: ModernBERT's local layers and global
ones."""

from collections.abc import Iterator

from benchmarks.settings import Settings
from benchmarks.side_by_side.measurement import Contestant, Measurement

ABOUT = (
    "One training step (forward and backward pass) of two layers of a ModernBERT of width 256 and "
    "random weights on one row, float32, each in a process of its own: local layers, whose "
    "positions see 64 to each side, and global ones. Memory includes libraries and weights "
    "(*before*: what the process held before the first step)."
)
LENGTHS = (512, 1024, 2048, 4096)


def measurements(settings: Settings) -> Iterator[Measurement]:
    """One length after the other."""
    for positions in settings.of(LENGTHS, LENGTHS[:1]):
        jobs = {"local": {"global_layers": []}, "global": {"global_layers": [0, 1]}}
        yield Measurement(
            f"one row of {positions:,} positions",
            [Contestant(name, "local_layers_ours.py", job=job) for name, job in jobs.items()],
            job={"positions": positions},
            rounds=settings.rounds(3),
        )
