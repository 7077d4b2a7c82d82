"""Peak memory of a training step on long texts, by what learns."""

from collections.abc import Iterator

from benchmarks.settings import Settings
from benchmarks.side_by_side.measurement import Contestant, Measurement

ABOUT = (
    "One step on a batch of long texts, MiniLM and a linear classifier, AdamW, float32: the "
    "forward pass alone, and steps in which nothing of the encoder learns, its adapters do, its "
    "top layer, or all of it, the last three also with gradient checkpointing. Each in a process "
    "of its own; memory includes libraries and weights (*before*: what the process held with the "
    "model loaded, before the first step)."
)
CASES = {
    "forward pass alone": {"learns": None},
    "❄": {"learns": "nothing"},
    "adapters": {"learns": "adapters"},
    "adapters, checkpointing": {"learns": "adapters", "checkpointing": True},
    "top layer": {"learns": "top"},
    "🔥": {"learns": "all"},
    "🔥, checkpointing": {"learns": "all", "checkpointing": True},
}


def measurements(settings: Settings) -> Iterator[Measurement]:
    """One batch."""
    texts, units = settings.of(32, 4), settings.of(256, 16)
    yield Measurement(
        f"{texts} texts of {units} units",
        [Contestant(name, "memory_ours.py", job=job) for name, job in CASES.items()],
        job={"module": str(settings.minilm), "texts": texts, "units": units},
        rounds=settings.rounds(3),
    )
