"""Latency and throughput of an export beside transformers."""

from collections.abc import Iterator
from typing import Any

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
        for batch_size in (1, 32):
            count = settings.of(100 if batch_size == 1 else 512, 8)
            many = f"{count} texts in batches of 32"
            yield Measurement(
                f"{'one text' if batch_size == 1 else many}, {precision or 'float32'}",
                _contestants(tolerance),
                job=job_of(settings, precision, texts[:count], batch_size),
                rounds=settings.rounds(),
                calls=count if batch_size == 1 else 1,
                compared="the scores of all texts",
                unit="texts",
            )


def job_of(
    settings: Settings, precision: str | None, texts: list[str], batch_size: int
) -> dict[str, Any]:
    """What the children that serve MiniLM with a linear head are told."""
    return {
        "export": export_of(settings, precision, "savedmodel"),
        "huggingface": settings.huggingface_minilm,
        "head": settings.head_file(),
        "texts": settings.file("texts", texts),
        "precision": precision,
        "batch_size": batch_size,
    }


def export_of(settings: Settings, precision: str | None, form: str) -> str:
    """The folder of MiniLM with a linear head as `savedmodel` or light export (`openvino`)."""
    return settings.made(
        f"export_{form}_{precision}",
        "serve_export.py",
        module=str(settings.minilm),
        head=settings.head_file(),
        precision=precision,
        format=form,
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
