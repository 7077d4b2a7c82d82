"""Our light export beside a SavedModel, the engine openvino, transformers and optimum."""

import sys
from collections.abc import Iterator
from dataclasses import replace

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
    "that of the process; that of the first answer says nothing. The server under load: `python -m "
    "benchmarks.load --format openvino`."
)
_LEFT_OUT = ("ours, TensorFlow, constants", "ours, OpenVINO, weights in 8 bits")
_FIRST_ANSWER = (
    "import sys; from tf_adapt.light.light_model import LightModel; "
    "LightModel(sys.argv[1]).answer({'text': ['a fine film']})"
)


def measurements(settings: Settings) -> Iterator[Measurement]:
    """One text and batches in both precisions, long texts, the start."""
    for precision, tolerance in engines.PRECISIONS.items():
        everybody = _contestants(settings, precision, tolerance)
        for work in engines.WORK:
            yield engines.measurement(
                settings, precision, work, everybody, (2.5, 1.0), (1.0, 1.1), rounds=3
            )
    yield _long_texts(settings)
    yield _first_answer(settings)


def _long_texts(settings: Settings) -> Measurement:
    """Each of 2 to 15 sentences: up to 400 tokens, of many lengths."""
    sentences, texts = settings.sst2(), []
    for number in range(settings.of(320, 4)):
        texts.append(" ".join(sentences[15 * number : 15 * number + 2 + number % 14])[:1500])
    return Measurement(
        "long texts in batches of 32, float32",
        [_light(settings, "ours, light", None), engines.optimum(settings, 1e-4)],
        job=job_of(settings, None, texts, 32),
        rounds=1,
        compared="the scores of all texts",
        unit="texts",
        at_most_mb=500.0,
    )


def _first_answer(settings: Settings) -> Measurement:
    command = [sys.executable, "-c", _FIRST_ANSWER, export_of(settings, None, "openvino")]
    job = {"command": command, "request": None, "skip_warm_up": False}
    return Measurement(
        "start of a process to its first answer",
        [Contestant("ours, light", "starting.py", job=job)],
        rounds=settings.rounds(),
        at_most=1.5,
    )


def _light(
    settings: Settings, name: str, precision: str | None, tolerance: float = 0.0, why: str = ""
) -> Contestant:
    job = {"export": export_of(settings, precision, "openvino")}
    return Contestant(name, "serve_light.py", job=job, tolerance=tolerance, why=why)


def _contestants(settings: Settings, precision: str | None, tolerance: float) -> list[Contestant]:
    others = engines.contestants(settings, tolerance)
    return [
        _light(settings, "ours, light", precision),
        _light(settings, "ours, light, weights in 8 bits", "int8", 0.05, "8 bits round more"),
        # There it is the first, which the others are compared with; here it is one of them.
        *(
            replace(one, tolerance=max(one.tolerance, tolerance))
            for one in others
            if one.name not in _LEFT_OUT
        ),
        Contestant(
            "transformers, pipeline",
            "serve_transformers.py",
            "pytorch",
            {"pipeline": True},
            tolerance=tolerance,
        ),
    ]
