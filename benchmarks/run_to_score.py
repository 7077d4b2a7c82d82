"""Whole runs of full fine-tuning on MRPC until a dev score is reached."""

from collections.abc import Iterator

from benchmarks.settings import Settings
from benchmarks.side_by_side.measurement import Contestant, Measurement

ABOUT = (
    "From the files of weights and texts to a dev accuracy of 0.78 on MRPC: loading, tokenizing, "
    "full fine-tuning of MiniLM with AdamW (peak rate 5e-5, warm-up over a tenth of three epochs, "
    "then down on a line), dev scored every 29 steps (a quarter of an epoch) and at most three "
    "epochs. Each turn has another seed, so that the spread is that of the training too; the time "
    "to import the libraries is not in it. Who does not reach the score fails."
)
SCORE = 0.78


def measurements(settings: Settings) -> Iterator[Measurement]:
    """In float32, both sides' default."""
    yield Measurement(
        f"a run to {settings.of(SCORE, 0.01)}, float32",
        [
            Contestant("ours", "trainer_ours.py"),
            Contestant("Trainer", "trainer_transformers.py", "pytorch"),
        ],
        job={
            "module": str(settings.minilm),
            "huggingface": settings.huggingface_minilm,
            "train": settings.pairs_file("train", settings.of(None, 64)),
            "dev": settings.pairs_file("dev", settings.of(None, 32)),
            "until": settings.of(SCORE, 0.01),
            "every": settings.of(29, 1),
            "epochs": 3,
            "precision": None,
            "rate": 5e-5,
        },
        rounds=settings.rounds(2),
    )
