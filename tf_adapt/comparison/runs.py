"""The runs of a comparison: where each is, how it ended, and which come next.

A run is what `tf-adapt train` does; its folder says whether it is finished. One that left the
finite numbers will do so again: a file beside its folder remembers it.
"""

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tf_adapt import run_folder
from tf_adapt.comparison.settings import Cell, Comparison
from tf_adapt.files import write_text
from tf_adapt.strict_yaml import float_text

# Of the trials between learning rates: beyond all seeds whose scores count (compare.seeds).
CHOOSING_SEED = 1000


@dataclass(frozen=True)
class CellRun:
    """One cell with one learning rate and one seed."""

    cell: Cell
    rate: float
    seed: int
    out: Path

    @property
    def folder(self) -> Path:
        """The run folder."""
        rate = f"rate_{float_text(self.rate)}"
        return self.out / "runs" / self.cell.name / rate / f"seed_{self.seed}"

    @property
    def config(self) -> Path:
        """The config of the cell, for `tf-adapt train`."""
        return config_path(self.out, self.cell)

    @property
    def log(self) -> Path:
        """What the run printed."""
        return self.folder.with_suffix(".log")

    @property
    def failure(self) -> Path:
        """Why the run left the finite numbers; there only if it did."""
        return self.folder.with_suffix(".failed")

    def arguments(self, cache: Path | None = None) -> list[str]:
        """Of `tf-adapt`, to make or repeat this run."""
        arguments = ["train", str(self.config), "--out", str(self.folder)]
        arguments += ["--set", f"training.learning_rate={float_text(self.rate)}"]
        if cache is not None:
            arguments += ["--set", f"features.cache={json.dumps(str(cache), ensure_ascii=False)}"]
        return [*arguments, "--seed", str(self.seed)]


def config_path(out: Path, cell: Cell) -> Path:
    """Where a comparison keeps the config of a cell."""
    return out / "cells" / f"{cell.name}.yaml"


class Outcomes:
    """What the runs of a comparison came to, read from their folders once."""

    def __init__(self, comparison: Comparison, out: Path):
        self.comparison = comparison
        self.out = out
        self._metrics: dict[Path, dict[str, Any]] = {}

    def run(self, cell: Cell, rate: float, seed: int) -> CellRun:
        """A run by its parts."""
        return CellRun(cell, rate, seed, self.out)

    def metrics(self, run: CellRun) -> dict[str, Any] | None:
        """The `metrics.json` of a finished run, or None."""
        if run.folder not in self._metrics:
            found = run_folder.finished_metrics(run.folder)
            if found is None:
                return None
            self._metrics[run.folder] = found
        return self._metrics[run.folder]

    def failed(self, run: CellRun) -> bool:
        """Whether a run left the finite numbers."""
        return run.failure.is_file()

    def is_over(self, run: CellRun) -> bool:
        """Whether there is nothing more to do for a run."""
        return self.metrics(run) is not None or self.failed(run)

    def score(self, run: CellRun, split: str) -> float | None:
        """The score of a finished run on a split, by the run's own metric; None if undefined."""
        metrics = self.metrics(run)
        return None if metrics is None else metrics[split][metrics["metric"]]

    def trials(self, cell: Cell) -> list[CellRun]:
        """The runs between which a cell's learning rate is chosen; none where it has one alone.

        Their seed chooses and nothing else: the best of several scores is too good by chance, and
        the more so, the less stable a cell is.
        """
        if len(cell.rates) == 1:
            return []
        return [self.run(cell, rate, CHOOSING_SEED) for rate in cell.rates]

    def chosen_rate(self, cell: Cell) -> float | None:
        """The rate with the best dev score (the first of equals); None before all were tried, or
        where all left the finite numbers. One alone needs no trial."""
        trials = self.trials(cell)
        if not trials:
            return cell.rates[0]
        if not all(map(self.is_over, trials)) or all(map(self.failed, trials)):
            return None
        return self.best_on_dev(trials).rate

    def best_on_dev(self, runs: Sequence[CellRun]) -> CellRun:
        """The run with the best dev score (the first of equals); one without a score is worst."""
        scores = [self.score(run, "dev") for run in runs]
        ranked = [-math.inf if score is None else score for score in scores]
        return runs[ranked.index(max(ranked))]

    def final_runs(self, cell: Cell) -> list[CellRun]:
        """The runs whose scores count: all seeds with the chosen rate; none before it is chosen."""
        rate = self.chosen_rate(cell)
        if rate is None:
            return []
        return [self.run(cell, rate, seed) for seed in self.comparison.seeds]

    def waiting(self) -> Iterator[CellRun]:
        """Runs that are still to do and can begin now: cell by cell, its trials, then its seeds.

        Cells whose encoder learns come first: they take longest, and processes side by side are to
        end together.
        """
        for cell in sorted(self.comparison.cells, key=_is_frozen):
            runs = [*self.trials(cell), *self.final_runs(cell)]
            yield from (run for run in runs if not self.is_over(run))

    def counts(self) -> tuple[int, int]:
        """How many runs are over, and of how many."""
        over, total = 0, 0
        for cell in self.comparison.cells:
            trials = self.trials(cell)
            over += sum(map(self.is_over, [*trials, *self.final_runs(cell)]))
            hopeless = bool(trials) and all(map(self.failed, trials))
            total += len(trials) + (0 if hopeless else len(self.comparison.seeds))
        return over, total


def _is_frozen(cell: Cell) -> bool:
    return cell.config.adaptation.name == "feature_extraction"


def remember_failure(run: CellRun, message: str) -> None:
    """Marks a run as one that left the finite numbers."""
    write_text(run.failure, message + "\n")
