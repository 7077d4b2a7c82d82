"""A linear classifier on the pooled vector of frozen BERTs, from 6,000 to 60,000 texts."""

from collections.abc import Iterator

from benchmarks import frozen
from benchmarks.settings import Settings
from benchmarks.side_by_side.measurement import Measurement

ABOUT = f"{frozen.ABOUT} Here a linear classifier on the pooled vector, without dropout."
JOB = {"head": "linear", "rate": 1e-3, "top": False}


def measurements(settings: Settings) -> Iterator[Measurement]:
    """A table for each encoder and number of texts."""
    small = JOB | {
        "module": "bert_small",
        "huggingface": settings.made(
            "bert_small_huggingface", "huggingface_folder.py", module="bert_small"
        ),
        "weights": settings.head_file(),
    }
    minilm = JOB | {
        "module": str(settings.minilm),
        "huggingface": settings.huggingface_minilm,
        "weights": settings.head_file(),
    }
    for count in settings.of((6000, 20_000, 60_000), (64,)):
        for name, job in (("bert_small", small), ("MiniLM", minilm)):
            timed = 2 if count < 20_000 else 1
            yield frozen.measurement(settings, f"linear on {name}", count, job, timed)
