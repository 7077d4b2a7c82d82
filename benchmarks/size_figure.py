"""`python -m benchmarks.size_figure`: draws what `size` measured."""

import json
import re
from typing import Any

from matplotlib.figure import Figure

from benchmarks.side_by_side.environments import ROOT
from benchmarks.side_by_side.machine import processor

BEFORE, PART = re.compile(r"(\d+) MB before"), re.compile(r"(data|predictions) ([\d.]+) s")


def figure(measurements: list[dict[str, Any]]) -> Figure:
    """Peak memory above what was held before, and processor time of a pair, by number of pairs."""
    drawn = Figure(figsize=(8, 3), layout="constrained")
    memory, time = drawn.subplots(1, 2)
    lines: dict[str, list[tuple[int, float]]] = {}
    for one in measurements:
        pairs = int(one["work"].partition(" ")[0].replace(",", ""))
        for contestant in one["contestants"]:
            before = int(BEFORE.search(contestant["notes"][0])[1])
            lines.setdefault(contestant["name"], []).append((pairs, contestant["peak_mb"] - before))
        for part, seconds in PART.findall(one["contestants"][0]["notes"][0]):
            lines.setdefault(part, []).append((pairs, float(seconds) / pairs * 1e6))
    for name, points in lines.items():
        axes = time if name in ("data", "predictions") else memory
        axes.plot(*zip(*points, strict=True), "o-", label=name)
    memory.set(ylabel="peak memory above the start, MB")
    time.set(ylabel="processor time of a pair, µs")
    for axes in (memory, time):
        axes.set(xlabel="pairs", xlim=(0, None), ylim=(0, None))
        axes.legend(fontsize="small")
    return drawn


def main() -> None:
    """Draws what was measured on this processor."""
    results = json.loads((ROOT / "docs" / "benchmarks.json").read_text("utf-8"))
    found = results["size"]["processors"][processor()]
    path = ROOT / "docs" / "images" / "sizes.png"
    figure(found["measurements"]).savefig(path, dpi=80, metadata={"Software": None})


if __name__ == "__main__":
    main()
