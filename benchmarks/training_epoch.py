"""An epoch of full fine-tuning on MRPC beside transformers' Trainer."""

from collections.abc import Iterator

from benchmarks.settings import Settings
from benchmarks.side_by_side.measurement import Contestant, Measurement

ABOUT = (
    "One epoch of 640 pairs of MRPC, all of MiniLM and a linear classifier, AdamW, batches of "
    "32, tokenized before. Ours sorts by length within windows of 50 batches, as it always does; "
    "`Trainer` draws batches at random, as it does unless told otherwise, and pads each to its "
    "longest. A turn goes on where the one before ended."
)


def measurements(settings: Settings) -> Iterator[Measurement]:
    """In float32 and in bfloat16."""
    count = settings.of(640, 64)
    for precision in (None, "bfloat16"):
        grouped = Contestant(
            "Trainer, grouped by length",
            "trainer_transformers.py",
            "pytorch",
            {"grouped": True},
            tolerance=0.1,
        )
        why = "another order of the data, other random dropout"
        yield Measurement(
            f"an epoch, {precision or 'float32'}",
            [
                Contestant("ours", "trainer_ours.py"),
                Contestant("Trainer", "trainer_transformers.py", "pytorch", tolerance=0.1, why=why),
                grouped,
            ],
            job={
                "module": str(settings.minilm),
                "huggingface": settings.huggingface_minilm,
                "train": settings.pairs_file("train", count),
                "precision": precision,
                "rate": 5e-5,
            },
            rounds=settings.rounds(3),
            compared="mean loss of the epoch",
            unit="pairs",
            at_least={"Trainer": 1.2},
        )
