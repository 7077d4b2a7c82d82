"""Our export in OpenVINO beside TensorFlow and transformers."""

from collections.abc import Iterator

from benchmarks.serving import job_of
from benchmarks.settings import Settings
from benchmarks.side_by_side.measurement import Contestant, Measurement

ABOUT = (
    "MiniLM with a linear classifier, sentences of SST-2 from raw text to scores: the same export "
    "with its encoder in OpenVINO (also with weights in 8 bits) and in TensorFlow (also with "
    "weights as constants), and transformers' tokenizer and model by hand (in PyTorch; in OpenVINO "
    "through optimum). One text a call (the median call, and the 99th percentile of the calls), "
    "and many in batches of 32."
)
# Ratios to transformers by hand, and in OpenVINO.
Goals = tuple[float, float]
PRECISIONS = {None: 1e-4, "bfloat16": 0.02}
# (title, texts a call, percentile of the calls)
Work = tuple[str, int, int | None]
WORK: tuple[Work, ...] = (
    ("one text", 1, None),
    ("one text, slow calls", 1, 99),
    ("batches of 32", 32, None),
)


def measurements(settings: Settings) -> Iterator[Measurement]:
    """One text and batches, in both precisions."""
    for precision, tolerance in PRECISIONS.items():
        everybody = contestants(settings, tolerance)
        for work in WORK:
            yield measurement(settings, precision, work, everybody, (2.0, 1.0), (1.0, 1.0))


def measurement(
    settings: Settings,
    precision: str | None,
    work: Work,
    everybody: list[Contestant],
    one_text: Goals,
    batches: Goals,
    rounds: int = 5,
) -> Measurement:
    """One work of `WORK`; `one_text` and `batches` are its goals by size of the batch."""
    title, batch_size, percentile = work
    count = settings.of(200 if batch_size == 1 else 1024, 8)
    goals = one_text if batch_size == 1 else batches
    return Measurement(
        f"{title}, {precision or 'float32'}",
        everybody,
        job=job_of(settings, precision, settings.sst2()[:count], batch_size),
        rounds=settings.rounds(rounds),
        calls=count if batch_size == 1 else 1,
        percentile=percentile,
        compared="the scores of all texts",
        unit="texts",
        at_least=dict(zip(("transformers by hand", "transformers, OpenVINO"), goals, strict=True)),
    )


def contestants(settings: Settings, tolerance: float) -> list[Contestant]:
    """Those who answer with TensorFlow, OpenVINO or PyTorch."""
    return [
        Contestant("ours, OpenVINO", "serve_ours.py", job={"engine": "openvino"}),
        Contestant(
            "ours, OpenVINO, weights in 8 bits",
            "serve_ours.py",
            job={"engine": "openvino_int8"},
            tolerance=0.05,
            why="8 bits round more",
        ),
        Contestant("ours, TensorFlow", "serve_ours.py", tolerance=tolerance),
        Contestant(
            "ours, TensorFlow, constants",
            "serve_ours.py",
            job={"constants": True},
            tolerance=tolerance,
        ),
        Contestant(
            "transformers by hand",
            "serve_transformers.py",
            "pytorch",
            {"pipeline": False},
            tolerance=tolerance,
        ),
        optimum(settings, tolerance),
    ]


def optimum(settings: Settings, tolerance: float) -> Contestant:
    """transformers' tokenizer and model by hand, in OpenVINO."""
    job = {"folder": str(settings.work / "optimum")}
    return Contestant(
        "transformers, OpenVINO", "serve_optimum.py", "optimum", job, tolerance=tolerance
    )
