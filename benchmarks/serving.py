"""Latency and throughput of an export beside transformers."""

from collections.abc import Iterator

from benchmarks.settings import Settings
from benchmarks.side_by_side.measurement import Contestant, Measurement

ABOUT = (
    "MiniLM with a linear classifier, sentences of SST-2 from raw text to scores: our export in "
    "plain TensorFlow, transformers' `pipeline`, and its tokenizer and model by hand. One text a "
    "call (the time is the median call's), and many in batches of 32."
)
PRECISIONS = {None: 1e-5, "bfloat16": 0.02}


def measurements(settings: Settings) -> Iterator[Measurement]:
    """Latency and throughput in both precisions."""
    texts = settings.sst2()
    for precision, tolerance in PRECISIONS.items():
        export = settings.made(
            f"export_{precision}",
            "serve_export.py",
            module=str(settings.minilm),
            head=settings.head_file(),
            precision=precision,
        )
        for batch_size in (1, 32):
            count = settings.of(100 if batch_size == 1 else 512, 8)
            many = f"{count} texts in batches of 32"
            yield Measurement(
                f"{'one text' if batch_size == 1 else many}, {precision or 'float32'}",
                _contestants(tolerance),
                job={
                    "export": export,
                    "huggingface": settings.huggingface_minilm,
                    "head": settings.head_file(),
                    "texts": settings.file("texts", texts[:count]),
                    "precision": precision,
                    "batch_size": batch_size,
                },
                rounds=settings.rounds(),
                calls=count if batch_size == 1 else 1,
                compared="the scores of all texts",
                unit="texts",
            )


def _contestants(tolerance: float) -> list[Contestant]:
    script, environment = "serve_transformers.py", "pytorch"
    return [
        Contestant("ours", "serve_ours.py"),
        Contestant("pipeline", script, environment, {"pipeline": True}, tolerance=tolerance),
        Contestant(
            "transformers by hand", script, environment, {"pipeline": False}, tolerance=tolerance
        ),
    ]
