"""How far a comparison within minutes has come, as its record says. Imports no TensorFlow."""

from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from tf_adapt.comparison.plan.cells import Comparison
from tf_adapt.comparison.record import read_record, write_record


@dataclass(frozen=True)
class RungRecord:
    """A rung that was begun.

    Attributes:
        rates: those tried, by cell.
        ended: the seconds of the budget that were used at its end; None: it has not ended.
    """

    rates: dict[str, list[float]]
    ended: float | None = None


@dataclass(frozen=True)
class Progress:
    """The key `budget` of `comparison.json`.

    Attributes:
        minutes: of the last call.
        used: seconds, by all processes.
        processes: at a time, in the first rung.
        finalists: the rate of each cell that is scored; None: not decided.
        seeds: how many are scored; 0: none yet.
        seconds: that were used when the last of them ended.
        a_seed: seconds that one more takes.
        load: seconds on the clock by those of a processor, of a run of the last rung; from 1.
    """

    minutes: float
    used: float = 0.0
    processes: int = 1
    rungs: list[RungRecord] = field(default_factory=list)
    finalists: dict[str, float] | None = None
    seeds: int = 0
    seconds: float = 0.0
    a_seed: float = 0.0
    load: float = 1.0


def read_progress(out: Path) -> Progress | None:
    """The progress of a comparison's folder; None: it was begun without minutes."""
    kept = read_record(out)["budget"]
    return None if kept is None else _of(kept)


def write_progress(out: Path, progress: Progress) -> None:
    """Puts the progress into the record."""
    write_record(out, read_record(out) | {"budget": asdict(progress)})


def _of(kept: dict[str, Any]) -> Progress:
    return Progress(**kept | {"rungs": [RungRecord(**rung) for rung in kept["rungs"]]})


def decided(comparison: Comparison, progress: Progress | None) -> Comparison:
    """The comparison of the finalists with the seeds that were scored; as it is without minutes, or
    before that."""
    if comparison.minutes is None or progress is None or not progress.seeds:
        return comparison
    return of_finalists(comparison, progress.finalists, progress.seeds)


def of_finalists(comparison: Comparison, finalists: dict[str, float], seeds: int) -> Comparison:
    """The cells that are scored, each with its rate, and so many seeds."""
    cells = tuple(
        replace(cell, rates=(finalists[cell.name],))
        for cell in comparison.cells
        if cell.name in finalists
    )
    return replace(comparison, cells=cells, seeds=comparison.seeds[:seeds], extend=False)
