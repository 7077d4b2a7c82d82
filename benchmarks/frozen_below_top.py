"""The top layer of a BERT trains, on the kept states of the layer below."""

from collections.abc import Iterator

from benchmarks import frozen
from benchmarks.settings import Settings
from benchmarks.side_by_side.measurement import Measurement

ABOUT = (
    f"{frozen.ABOUT} Here `top_layers` (1) of MiniLM: its top layer, pooler and a linear "
    "classifier train, with dropout."
)


def measurements(settings: Settings) -> Iterator[Measurement]:
    """One table."""
    job = {
        "head": "linear",
        "rate": 5e-5,
        "top": True,
        "module": str(settings.minilm),
        "huggingface": settings.huggingface_minilm,
        "weights": settings.head_file(),
    }
    count = settings.of(2000, 64)
    yield frozen.measurement(settings, "the top layer of MiniLM", count, job, 2)
