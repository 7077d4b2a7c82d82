"""BCN on all layers of a frozen ELMo and a frozen BERT."""

from collections.abc import Iterator

from benchmarks import frozen
from benchmarks.settings import Settings
from benchmarks.side_by_side.measurement import Measurement

ABOUT = (
    f"{frozen.ABOUT} Here BCN of 100 units on a learned mix of all layers, with its dropout; "
    "PyTorch's LSTMs read packed sequences. From 20,000 phrases on, ours alone."
)
JOB = {"head": "bcn", "units": 100, "rate": 1e-3, "top": False}


def measurements(settings: Settings) -> Iterator[Measurement]:
    """A table for each encoder and number of texts."""
    weights = settings.made("elmo_small.npz", "elmo_module.py", module="elmo_small")
    elmo = JOB | {"module": "elmo_small", "elmo": weights}
    minilm = JOB | {"module": str(settings.minilm), "huggingface": settings.huggingface_minilm}
    for count in settings.of((1000, 6000, 20_000, 60_000), (64,)):
        timed = 2 if count < 20_000 else 0
        yield frozen.measurement(settings, "BCN on elmo_small", count, elmo, timed)
        yield frozen.measurement(settings, "BCN on MiniLM", count, minilm, timed)
