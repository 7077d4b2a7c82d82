"""The matrix products of an encoder alone: what is left of its time when nothing else is slow."""

from collections.abc import Iterator

from benchmarks.settings import Settings
from benchmarks.side_by_side.measurement import Contestant, Measurement

ABOUT = (
    "The 36 matrix products between the states and the weights of MiniLM's six layers (query, key, "
    "value, output: 384 × 384; 384 × 1,536 and back), each alone, with nothing between them: the "
    "limit of what a better graph around them can win. In bfloat16 also with weights that are kept "
    "in it instead of being cast in each call, and, in TensorFlow, with weights that are constants "
    "of the graph. The time of a turn is its fastest call."
)
ROUNDING = "half precision rounds to 8 bits"


def measurements(settings: Settings) -> Iterator[Measurement]:
    """Few rows of states, as of one text, and many, as of a batch."""
    for rows in (32, 1024):
        for precision, contestants in (("float32", _float32()), ("bfloat16", _bfloat16())):
            yield Measurement(
                f"{rows:,} rows, {precision}",
                contestants,
                job={"rows": settings.of(rows, 8), "precision": precision},
                rounds=settings.rounds(),
                calls=settings.of(30, 2),
                fastest=True,
                compared="the last product by 1,536",
            )


def _float32() -> list[Contestant]:
    tensorflow, pytorch = "products_tensorflow.py", "products_pytorch.py"
    return [
        Contestant("TensorFlow", tensorflow),
        Contestant("TensorFlow, constant weights", tensorflow, job={"constant": True}),
        Contestant("PyTorch", pytorch, "pytorch", tolerance=1e-4),
    ]


def _bfloat16() -> list[Contestant]:
    tensorflow, pytorch, half = "products_tensorflow.py", "products_pytorch.py", {"half": True}
    return [
        Contestant("TensorFlow", tensorflow),
        Contestant("TensorFlow, weights in bfloat16", tensorflow, job=half),
        Contestant("TensorFlow, constant weights", tensorflow, job={**half, "constant": True}),
        Contestant("PyTorch", pytorch, "pytorch", tolerance=0.03, why=ROUNDING),
        Contestant("PyTorch, weights in bfloat16", pytorch, "pytorch", half, tolerance=0.03),
    ]
