"""Training steps on MRPC's pairs: nothing of MiniLM learns, its top layer does, all of it does."""

from collections.abc import Iterator

from benchmarks.settings import Settings
from benchmarks.side_by_side.measurement import Contestant, Measurement

ABOUT = (
    "Forward, backward, clipping and AdamW's update, MiniLM under a linear classifier, batches of "
    "32 pairs of MRPC in the order of the file, each padded to its longest, tokenized before; "
    "ours with `fit`, PyTorch with the usual loop and the fused AdamW, keras-hub with `fit` and "
    "all pairs padded to the longest of all. A frozen part of ours runs in inference mode; in "
    "PyTorch's loop, as written everywhere, its dropout goes on. The last table is ours beside "
    "ours with all batches packed before: how long steps wait for their data."
)
TITLES = {
    "frozen": "the classifier alone learns",
    "top": "the top layer learns",
    "full": "all learns",
}


def measurements(settings: Settings) -> Iterator[Measurement]:
    """Each way to train, in float32 and in bfloat16."""
    examples = settings.of(320, 32)
    job = {
        "module": str(settings.minilm),
        "huggingface": settings.huggingface_minilm,
        "pairs": settings.pairs_file("train", examples),
        "head": settings.head_file(),
        "examples": examples,
        "dropout": True,
        "rate": 5e-5,
    }
    alike = {
        "rounds": settings.rounds(3),
        "check": {"dropout": False, "examples": settings.of(128, 32)},
        "compared": "mean loss of the first steps, and logits after them, without dropout",
    }
    for trained, title in TITLES.items():
        for precision, tolerance in ((None, 2e-3), ("bfloat16", 0.02)):
            yield Measurement(
                f"{examples // 32} steps, {title}, {precision or 'float32'}",
                _contestants(trained, tolerance),
                job=job | {"trained": trained, "precision": precision},
                **alike,
            )
    packed = {"packed_before": True}
    yield Measurement(
        f"{examples // 32} steps, {TITLES['frozen']}, bfloat16, waiting for data",
        [
            Contestant("ours", "train_ours.py"),
            Contestant("ours, batches packed before", "train_ours.py", job=packed, tolerance=1e-6),
        ],
        job=job | {"trained": "frozen", "precision": "bfloat16"},
        **alike,
    )


def _contestants(trained: str, tolerance: float) -> list[Contestant]:
    found = [
        Contestant("ours", "train_ours.py"),
        Contestant("transformers", "train_pytorch.py", "pytorch", tolerance=tolerance),
    ]
    if trained == "full":
        why = "the tanh form of GELU, where the weights were trained with the exact one"
        found.append(Contestant("keras-hub", "train_keras_hub.py", tolerance=0.02, why=why))
    return found
