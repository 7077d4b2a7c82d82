"""`python -m benchmarks.frozen_figure`: draws what `frozen-linear` measured, by number of texts."""

import json
import re
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from benchmarks.side_by_side.environments import ROOT
from benchmarks.side_by_side.machine import processor
from benchmarks.side_by_side.summary import median

PART = re.compile(r", \d+ of ten")
WORK = re.compile(r"10 epochs on ([\d,]+) phrases, linear on (\w+)")


def figure(measurements: list[dict[str, Any]]) -> Figure:
    """Time for 1,000 texts and peak memory of each contestant; a column for each encoder."""
    encoders = sorted({WORK.match(one["work"])[2] for one in measurements}, reverse=True)
    drawn = Figure(figsize=(3.6 * len(encoders), 5), layout="constrained")
    axes = drawn.subplots(2, len(encoders), sharex=True, squeeze=False)
    for column, encoder in zip(axes.T, encoders, strict=True):
        for name, points in _lines(measurements, encoder).items():
            counts, seconds, memory = zip(*points, strict=True)
            column[0].plot(counts, seconds, "o-", label=name)
            column[1].plot(counts, memory, "o-")
        column[0].set_xlim(0, 65_000)
        column[0].set(title=f"linear on {encoder}", ylabel="s for 1,000 texts", ylim=(0, None))
        column[1].set(xlabel="texts", ylabel="peak memory, MB", ylim=(0, None))
    lines, names = axes[0][0].get_legend_handles_labels()
    drawn.legend(lines, names, loc="outside lower center", ncols=2, fontsize="small")
    return drawn


def _lines(measurements: list[dict[str, Any]], encoder: str) -> dict[str, list[tuple]]:
    lines: dict[str, list[tuple]] = {}
    for one in measurements:
        count, name = WORK.match(one["work"]).groups()
        for contestant in one["contestants"] if name == encoder else ():
            texts = int(count.replace(",", ""))
            seconds = median(contestant["seconds"]) / texts * 1000
            label = PART.sub("", contestant["name"])
            lines.setdefault(label, []).append((texts, seconds, contestant["peak_mb"]))
    return lines


def main() -> None:
    """Draws what was measured on this processor."""
    results = json.loads((ROOT / "docs" / "benchmarks.json").read_text("utf-8"))
    found = results["frozen-linear"]["processors"][processor()]
    path = Path(ROOT / "docs" / "images" / "frozen_sizes.png")
    figure(found["measurements"]).savefig(path, dpi=80, metadata={"Software": None})


if __name__ == "__main__":
    main()
