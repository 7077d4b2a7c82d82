"""What the benchmarks of frozen encoders share: ours, and PyTorch recomputing and on saved rows."""

from benchmarks.settings import Settings
from benchmarks.side_by_side.measurement import Contestant, Measurement

ABOUT = (
    "Ten epochs on the first phrases of SST-2 in the order of the file, AdamW, batches of 32, "
    "float32. Ours computes what is frozen once, within the default limits (500 MB in memory, "
    "else on disk). PyTorch runs the frozen part in every epoch (in inference mode and without "
    "gradients), in the order of the file, padded to the longest of a batch, or sorted by length, "
    "or once and saves what it gives with `datasets` (`map`, then batches of "
    "`with_format('torch')`). Computing, saving and tokenizing are counted for all. PyTorch's "
    "epochs with the encoder are all alike: where 'of ten' stands, so many were run, and their "
    "time multiplied."
)
ORDER = "another order of the data"
SAVED = "PyTorch, saved by datasets"


def measurement(settings: Settings, work: str, count: int, job: dict, timed: int) -> Measurement:
    """Ten epochs on so many phrases.

    Args:
        timed: epochs in which PyTorch runs the encoder; 0: ours alone.
    """
    epochs = settings.of(10, 2)
    timed = min(timed, epochs)
    recomputed = "PyTorch, recomputed" + ("" if timed == epochs else f", {timed} of ten")
    linear = job["head"] == "linear" and not job["top"]
    # Dropout, and fewer epochs, have losses of their own.
    compared = linear and timed == epochs
    tolerance = 1e-3 if compared else 0.0
    script = "frozen_pytorch.py"
    by_length = f"{recomputed}, sorted by length"
    contestants = [Contestant("ours", "frozen_ours.py", job={"kept": True})]
    if job["top"]:
        contestants.append(Contestant("ours, recomputed", "frozen_ours.py", job={"kept": False}))
    if timed:
        contestants += [
            Contestant(recomputed, script, "pytorch", {"saved": False}, tolerance),
            Contestant(by_length, script, "pytorch", {"saved": False, "sorted": True}, 1.0, ORDER),
            Contestant(SAVED, script, "pytorch", {"saved": True}, tolerance),
        ]
    return Measurement(
        f"{epochs} epochs on {count:,} phrases, {work}",
        contestants,
        job=job | {"texts": settings.phrases_file(count), "epochs": epochs, "timed": timed},
        rounds=1,
        compared="mean loss of the last epoch" if compared else "",
        unit="texts",
        at_least={recomputed: 8.0, by_length: 8.0} if linear else {},
    )
