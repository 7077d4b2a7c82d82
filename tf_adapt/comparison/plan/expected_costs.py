"""How long a comparison takes and how much memory, from measured steps. Imports no TensorFlow."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tf_adapt.training.costs import MeasuredCosts

# `tf_adapt.training.results.finish` measures serving on that many examples of dev, twice.
SERVED = 512
# CPU seconds of a run for its folder: checkpoints, event files, predictions, scores.
WRITING = 2.0
# CPU seconds of the end of a comparison: simple models, figures, the export in its own process.
ENDING = 9.0


@dataclass(frozen=True)
class CellCosts:
    """The costs of a cell, in CPU seconds.

    Attributes:
        building: of its model.
        reading: what its encoder and its texts have in common with other cells: features are
            computed once for all cells of one reading.
        steps_per_batch: of a pass over the training data; 1 but for contrastive tuning, which draws
            several pairs for each text.
    """

    name: str
    reading: tuple
    epochs: int
    batch_size: int
    building: float
    measured: MeasuredCosts
    steps_per_batch: float = 1.0


@dataclass(frozen=True)
class ExpectedCosts:
    """The expected costs of a comparison, if no run ends early.

    Attributes:
        cpu_seconds: of all processes.
        seconds: with `jobs` processes on idle cores.
        memory_mb: of the largest process.
        unknown: names of the cells that could not be measured, which are not in it.
    """

    cpu_seconds: float
    seconds: float
    memory_mb: float
    unknown: list[str]


def expected_costs(
    cells: Sequence[CellCosts],
    unknown: list[str],
    *,
    train: Sequence[int],
    examples: dict[str, int],
    runs: int,
    starting: float,
    threads: int,
    jobs: int,
    trials: int = 0,
    minutes: float | None = None,
) -> ExpectedCosts:
    """The sum over the runs of all cells.

    Args:
        train: the numbers of training examples.
        examples: of each split.
        runs: of a cell with one number of training examples, trials among them.
        starting: CPU seconds until a process has read the data.
        threads: of a process.
        jobs: processes at a time.
        trials: those of the runs that end within `minutes` together; None: all of them.
    """

    def of_runs(cost: float) -> float:
        searched = trials * cost
        if minutes is not None:  # the trial that reaches them is the last
            searched = min(searched, 60 * minutes * threads + cost)
        return (runs - trials) * cost + searched

    of_cells = [
        starting
        + cell.measured.tracing
        + sum(of_runs(sum(costs_of_run(cell, number, examples))) for number in train)
        for cell in cells
    ]
    features = {cell.reading: cell.measured.features * sum(examples.values()) for cell in cells}
    total, ending = sum(of_cells) + sum(features.values()), ENDING if cells else 0.0
    longest = max(of_cells, default=0.0) + max(features.values(), default=0.0)
    return ExpectedCosts(
        cpu_seconds=total + ending,
        seconds=max(total / jobs, longest) / threads + ending,
        memory_mb=max((cell.measured.memory_mb for cell in cells), default=0.0),
        unknown=unknown,
    )


def costs_of_run(
    cell: CellCosts, train: int, examples: Mapping[str, int]
) -> tuple[float, float, float]:
    """CPU seconds of the steps; of the scores on dev after each epoch; of building, writing and the
    predictions at the end."""
    dev, measured = examples["dev"], cell.measured
    test = sum(count for name, count in examples.items() if name not in ("train", "dev"))
    steps = cell.epochs * -(-train // cell.batch_size) * cell.steps_per_batch
    rest = (
        WRITING
        + cell.building
        + (dev + 2 * test) * measured.evaluation
        + min(SERVED, 2 * dev) * measured.serving
    )
    return steps * measured.step, cell.epochs * dev * measured.evaluation, rest


def costs_lines(costs: ExpectedCosts, jobs: int) -> list[str]:
    """`takes about 12 minutes (23 CPU minutes in 2 processes), with up to 1,200 MB each`."""
    if not costs.cpu_seconds:
        return []
    without = f"; without {', '.join(costs.unknown)}" if costs.unknown else ""
    processes = f"{jobs} processes" if jobs > 1 else "1 process"
    return [
        f"takes about {_minutes(costs.seconds)} on idle cores ({_minutes(costs.cpu_seconds)} of "
        f"CPU time in {processes}), with up to {costs.memory_mb:,.0f} MB each, by a timed step and "
        f"pass of each cell{without}"
    ]


def _minutes(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} seconds"
    return f"{seconds / 60:.0f} minutes" if seconds < 5400 else f"{seconds / 3600:.1f} hours"
