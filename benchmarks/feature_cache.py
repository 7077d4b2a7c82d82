"""What keeping a frozen encoder's features saves, and how it grows with the number of texts."""

from collections.abc import Iterator

from benchmarks.settings import Settings
from benchmarks.side_by_side.measurement import Contestant, Measurement

ABOUT = (
    "Ten epochs on the first phrases of SST-2 in the order of the file, AdamW, batches of 32, "
    "float32: a linear classifier on the pooled vector of frozen BERTs (no dropout), BCN of 100 "
    "units on all layers, and MiniLM whose top layer is trained with a linear classifier. Ours "
    "computes what is frozen once, within the default limits (2,000 MB in memory, else on disk); "
    "PyTorch runs the encoder in every epoch (in inference mode and without gradients), or once "
    "and saves what it gives with `datasets` (`map`, then batches of `with_format('torch')`). "
    "Computing, saving and tokenizing are counted for all. PyTorch's epochs with the encoder are "
    "all alike: where 'of ten' stands, so many were run, and their time multiplied."
)
SIZES = (6000, 20_000, 60_000)


def measurements(settings: Settings) -> Iterator[Measurement]:
    """A table for each encoder, head and number of texts."""
    minilm = {"module": str(settings.minilm), "huggingface": settings.huggingface_minilm}
    small = {
        "module": "bert_small",
        "huggingface": settings.made(
            "bert_small_huggingface", "huggingface_folder.py", module="bert_small"
        ),
    }
    elmo = {
        "module": "elmo_small",
        "elmo": settings.made("elmo_small.npz", "elmo_module.py", module="elmo_small"),
    }
    linear = {"head": "linear", "rate": 1e-3, "top": False}
    bcn = {"head": "bcn", "units": 100, "rate": 1e-3, "top": False}
    top = {"head": "linear", "rate": 5e-5, "top": True}
    for count in settings.of(SIZES, (64,)):
        weights = {"weights": settings.head_file(256)}
        yield _measurement(settings, "linear on bert_small", count, small | linear | weights, 10)
    weights = {"weights": settings.head_file()}
    for count in settings.of(SIZES, (64,)):
        timed = 10 if count < SIZES[1] else 1
        yield _measurement(settings, "linear on MiniLM", count, minilm | linear | weights, timed)
    for count in settings.of((6000,), (64,)):
        yield _measurement(settings, "the top layer of MiniLM", count, minilm | top | weights, 2)
    for count in settings.of((2000, 6000), (64,)):
        yield _measurement(settings, "BCN on elmo_small", count, elmo | bcn, 1)
        yield _measurement(settings, "BCN on MiniLM", count, minilm | bcn, 1)


def _measurement(settings: Settings, work: str, count: int, job: dict, timed: int) -> Measurement:
    epochs = settings.of(10, 2)
    timed = min(timed, epochs)
    part = "" if timed == epochs else f", {timed} of ten"
    recomputed = f"PyTorch, recomputed{part}"
    # Dropout, and fewer epochs, have losses of their own.
    compared = job["head"] == "linear" and not job["top"] and timed == epochs
    tolerance = {"tolerance": 1e-3} if compared else {}
    ours = [Contestant("ours", "frozen_ours.py", job={"kept": True})]
    if job["top"]:
        ours.append(Contestant("ours, recomputed", "frozen_ours.py", job={"kept": False}))
    return Measurement(
        f"{epochs} epochs on {count:,} phrases, {work}",
        [
            *ours,
            Contestant(recomputed, "frozen_pytorch.py", "pytorch", {"saved": False}, **tolerance),
            Contestant(
                "PyTorch, saved by datasets",
                "frozen_pytorch.py",
                "pytorch",
                {"saved": True},
                **tolerance,
            ),
        ],
        job=job | {"texts": settings.phrases_file(count), "epochs": epochs, "timed": timed},
        rounds=1,
        compared="mean loss of the last epoch" if compared else "",
        unit="texts",
        at_least={recomputed: 8.0} if job["head"] == "linear" and not job["top"] else {},
    )
