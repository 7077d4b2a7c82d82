"""What keeping a frozen encoder's features saves."""

from collections.abc import Iterator

from benchmarks.settings import Settings
from benchmarks.side_by_side.measurement import Contestant, Measurement

ABOUT = (
    "Ten epochs of a linear classifier on frozen MiniLM, pairs of MRPC in the order of the file, "
    "AdamW, batches of 32, float32, no dropout: ours with features that are computed once (which "
    "is counted), ours without, and PyTorch, which computes them in every epoch (in inference "
    "mode and without gradients). Tokenizing is counted for all."
)


def measurements(settings: Settings) -> Iterator[Measurement]:
    """One table."""
    count, epochs = settings.of(1024, 64), settings.of(10, 2)
    yield Measurement(
        f"{epochs} epochs on {count} pairs, frozen",
        [
            Contestant("ours", "cache_ours.py", job={"kept": True}),
            Contestant("ours, recomputed", "cache_ours.py", job={"kept": False}, tolerance=1e-3),
            Contestant("transformers, recomputed", "cache_pytorch.py", "pytorch", tolerance=1e-3),
        ],
        job={
            "module": str(settings.minilm),
            "huggingface": settings.huggingface_minilm,
            "pairs": settings.pairs_file("train", count),
            "head": settings.head_file(),
            "epochs": epochs,
            "rate": 1e-3,
        },
        rounds=settings.rounds(2),
        compared="mean loss of the last epoch",
        at_least={"transformers, recomputed": 6.0},
    )
