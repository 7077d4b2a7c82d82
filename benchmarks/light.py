"""Our light export beside a SavedModel, the engine openvino, transformers and optimum."""

from collections.abc import Iterator

from benchmarks import engines
from benchmarks.serving import export_of, job_of
from benchmarks.settings import Settings
from benchmarks.side_by_side.measurement import Contestant, Measurement

ABOUT = (
    "MiniLM with a linear classifier, sentences of SST-2 from raw text to scores: a light export "
    "(encoder and head in OpenVINO, no TensorFlow in the process; also with weights in 8 bits), "
    "our SavedModel in TensorFlow and with its encoder in OpenVINO, transformers' pipeline, and "
    "its tokenizer and model by hand (in PyTorch; in OpenVINO through optimum). One text a call "
    "(the median call, and the 99th percentile of the calls), and many in batches of 32. Memory is "
    "that of the process. The server under load: `python -m benchmarks.load --format openvino`."
)
_LEFT_OUT = ("ours, TensorFlow, constants", "ours, OpenVINO, weights in 8 bits")


def measurements(settings: Settings) -> Iterator[Measurement]:
    """One text and batches, in both precisions."""
    texts = settings.sst2()
    for precision, tolerance in engines.PRECISIONS.items():
        for title, batch_size, percentile in engines.WORK:
            count = settings.of(200 if batch_size == 1 else 1024, 8)
            yield Measurement(
                f"{title}, {precision or 'float32'}",
                _contestants(settings, precision, tolerance),
                job=job_of(settings, precision, texts[:count], batch_size),
                rounds=settings.rounds(),
                calls=count if batch_size == 1 else 1,
                percentile=percentile,
                compared="the scores of all texts",
                unit="texts",
                at_least={
                    "transformers by hand": 2.5 if batch_size == 1 else 1.0,
                    "transformers, OpenVINO": 1.0 if batch_size == 1 else 1.1,
                },
            )


def _contestants(settings: Settings, precision: str | None, tolerance: float) -> list[Contestant]:
    def light(
        name: str, of_export: str | None, tolerance: float = 0.0, why: str = ""
    ) -> Contestant:
        job = {"export": export_of(settings, of_export, "openvino")}
        return Contestant(name, "serve_light.py", job=job, tolerance=tolerance, why=why)

    others = engines.contestants(settings, tolerance)
    return [
        light("ours, light", precision),
        light("ours, light, weights in 8 bits", "int8", 0.05, "8 bits round more"),
        *(one for one in others if one.name not in _LEFT_OUT),
        Contestant(
            "transformers, pipeline",
            "serve_transformers.py",
            "pytorch",
            {"pipeline": True},
            tolerance=tolerance,
        ),
    ]
