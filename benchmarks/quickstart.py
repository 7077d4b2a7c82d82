"""The README's first command, its installation left out."""

import sys
from collections.abc import Iterator

from benchmarks.settings import Settings
from benchmarks.side_by_side.environments import ROOT
from benchmarks.side_by_side.measurement import Contestant, Measurement

ABOUT = (
    "`tf-adapt compare configs/quickstart.yaml --jobs 2`: twelve runs, tests, report, export. "
    "Each of its two processes has one thread. Memory is that of the process that starts it, and "
    "says nothing."
)


def measurements(settings: Settings) -> Iterator[Measurement]:
    """One command."""
    command = [
        sys.executable,
        "-P",
        "-m",
        "tf_adapt",
        "compare",
        str(ROOT / "configs/quickstart.yaml"),
    ]
    command += ["--out", str(settings.work / "{turn}"), "--jobs", "2"]
    command += settings.of([], ["--seeds", "1", "--set", "training.epochs=1"])
    job = {"command": command, "request": None, "skip_warm_up": True}
    yield Measurement(
        "the quick start",
        [Contestant("ours", "starting.py", job=job)],
        rounds=settings.rounds(1),
        at_most=180.0,
    )
