"""What keeping the states below the trained layers saves in gradual unfreezing."""

from collections.abc import Iterator

from benchmarks.settings import Settings
from benchmarks.side_by_side.measurement import Contestant, Measurement

ABOUT = (
    "A whole run of `tf-adapt train` with gradual unfreezing, MiniLM on MRPC, linear classifier, "
    "batches of 32, loading, evaluation and saving included: once with the states at the highest "
    "frozen layer kept from epoch to epoch (computing them is counted), once with the encoder "
    "reading the texts in every epoch."
)


def measurements(settings: Settings) -> Iterator[Measurement]:
    """In float32 and in bfloat16."""
    for precision, tolerance in ((None, 1e-3), ("bfloat16", 0.05)):
        config = {
            "data": {
                "dataset": "mrpc",
                "data_dir": str(settings.shared / "data" / "mrpc"),
                "train_examples": settings.of(500, 64),
            },
            "encoder": {"handle": str(settings.minilm)},
            "head": "linear",
            "adaptation": {"name": "gradual_unfreezing"},
            "training": {
                "epochs": settings.of(8, 2),
                "batch_size": 32,
                "learning_rate": 1e-4,
                "mixed_precision": precision,
            },
        }
        again = {"kept": False}
        yield Measurement(
            f"gradual unfreezing, {precision or 'float32'}",
            [
                Contestant("ours", "run_ours.py", job={"kept": True}),
                Contestant("ours, computed again", "run_ours.py", job=again, tolerance=tolerance),
            ],
            job={"config": config},
            rounds=settings.rounds(2),
            compared="dev loss of the best epoch",
            at_least={"ours, computed again": 1.5},
        )
