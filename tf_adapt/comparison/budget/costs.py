"""What runs take, from the runs so far. Imports no TensorFlow."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from tf_adapt.comparison.cell_results import SCORED_ON

# Seconds from the last run to the end on an idle core: report and export; simple models, for each
# example of the splits; tests, for each scored example and cell.
ENDING, PER_EXAMPLE, PER_ANSWER = 12.0, 2e-4, 2e-4


def ending_of(examples: Mapping[str, Sequence], cells: int) -> float:
    """Seconds from the last run to the end on an idle core.

    Args:
        examples: by split.
        cells: the number of those that are scored.
    """
    scored = cells * len(examples[SCORED_ON])
    return ENDING + PER_EXAMPLE * sum(map(len, examples.values())) + PER_ANSWER * scored


@dataclass(frozen=True)
class MeasuredRun:
    """The seconds of a finished run, of `metrics.json`.

    Attributes:
        epochs, examples: their shares of those of a scored run.
    """

    cell: str
    epochs: float
    examples: float
    seconds: Mapping[str, Any]

    def with_shares(self, epochs: float = 1.0, examples: float = 1.0) -> float:
        """What it would take with other shares: training grows with both, evaluation with the
        epochs, and the rest with neither."""
        training, evaluation = (self.seconds[name] for name in ("training", "evaluation"))
        more = epochs / self.epochs
        rest = self.seconds["total"] - training - evaluation
        return rest + training * more * examples / self.examples + evaluation * more


@dataclass(frozen=True)
class Pace:
    """How fast a comparison gets on.

    Attributes:
        runs: those of its last rung; of cells that had none, of the rung before.
        slowness: seconds on the clock by those that `seconds` would say; from 1.
        processes: at a time.
        ending: seconds from the last run to the end.
    """

    runs: Sequence[MeasuredRun]
    slowness: float
    processes: int
    ending: float = ENDING

    def seconds(
        self,
        counts: Mapping[str, int],
        shares: Mapping[str, tuple[float, float]] = MappingProxyType({}),
    ) -> float:
        """On the clock, for so many runs of each cell.

        Args:
            shares: of epochs and examples, by cell; by default they are those of a scored run.
        """
        each = [
            count * self.of_run(name, *shares.get(name, (1.0, 1.0)))
            for name, count in counts.items()
        ]
        return self.slowness * _side_by_side(each, self.processes)

    def of_run(self, name: str, epochs: float = 1.0, examples: float = 1.0) -> float:
        """Of a run of a cell; of one without a finished run as long as the longest."""
        own = [run.with_shares(epochs, examples) for run in self.runs if run.cell == name]
        if own:
            return float(np.mean(own))
        return max((run.with_shares(epochs, examples) for run in self.runs), default=0.0)


def pace_of(
    rungs: Sequence[tuple[Sequence[MeasuredRun], float]], processes: int, ending: float = ENDING
) -> Pace:
    """The pace after some rungs, each with its finished runs and its seconds on the clock."""
    latest: dict[str, list[MeasuredRun]] = {}
    for runs, _ in rungs:
        latest |= {run.cell: [other for other in runs if other.cell == run.cell] for run in runs}
    said = sum(_side_by_side(_of_cells(runs), processes) for runs, _ in rungs)
    clock = sum(seconds for _, seconds in rungs)
    slowness = max(1.0, clock / said) if said else 1.0
    return Pace([run for runs in latest.values() for run in runs], slowness, processes, ending)


def _of_cells(runs: Sequence[MeasuredRun]) -> list[float]:
    seconds: dict[str, float] = {}
    for run in runs:
        seconds[run.cell] = seconds.get(run.cell, 0.0) + run.seconds["total"]
    return list(seconds.values())


def _side_by_side(cells: Sequence[float], processes: int) -> float:
    """The seconds of cells, each of which is in one process."""
    at_once = max(1, min(processes, len(cells)))
    return max(sum(cells) / at_once, max(cells, default=0.0))
