"""What a screening found, for the report. Imports no TensorFlow."""

from pathlib import Path

from hub_modules.storage.strict_yaml import float_text
from tf_adapt.comparison.budget.budgeted import groups_of, screenings
from tf_adapt.comparison.budget.halving import guaranteed, ranked, ranked_rates
from tf_adapt.comparison.budget.progress import Progress, read_progress
from tf_adapt.comparison.budget.screening import Screening
from tf_adapt.comparison.plan.cells import Comparison
from tf_adapt.paper import SYMBOLS
from tf_adapt.report.budget.screened import Screened, ScreenedCell, ScreenedRung


def screened(comparison: Comparison, out: Path, available: int) -> Screened | None:
    """The screening of all cells; None: there were no minutes, or no cell was scored within them.

    Args:
        comparison: with all of its cells.
        available: the number of training examples of a scored run.
    """
    progress = read_progress(out)
    if comparison.minutes is None or progress is None or not progress.seeds:
        return None
    rungs = screenings(comparison, out, available)
    return Screened(
        minutes=progress.minutes,
        seconds=round(progress.seconds, 1),
        asked=len(comparison.seeds),
        cells=[_cell(comparison, cell.name, progress, rungs) for cell in comparison.cells],
    )


def _cell(
    comparison: Comparison, name: str, progress: Progress, rungs: list[Screening]
) -> ScreenedCell:
    own = [rung for rung in rungs if name in rung.rates]
    scores = [rung.scores() for rung in own]
    tried, groups = own[-1].rates, groups_of(comparison)
    order = ranked(tried, scores)
    first, scored = guaranteed(order, groups), name in progress.finalists
    place = order.index(name) + 1
    why = f"number {place} of {len(order)} cells in rung {len(own)}"
    if name in first:
        why = f"the best {SYMBOLS.get(first[name], 'other cell')} in rung {len(own)}"
    return ScreenedCell(
        id=name,
        rungs=[_rung(rung, name) for rung in own],
        place=place,
        of=len(order),
        learning_rate=progress.finalists.get(name, ranked_rates(name, tried, scores)[0]),
        scored=scored,
        why=why,
    )


def _rung(rung: Screening, name: str) -> ScreenedRung:
    (cell,) = (cell for cell in rung.comparison.cells if cell.name == name)
    runs = [run for run in rung.trials(cell) if rung.is_over(run)]
    seconds = [rung.metrics(run)["seconds"]["total"] for run in runs if rung.metrics(run)]
    return ScreenedRung(
        epochs=cell.config.training.epochs,
        examples=rung.trials(cell)[0].examples,
        scores={float_text(rate): score for rate, score in rung.scores()[name].items()},
        diverged=[float_text(run.rate) for run in runs if rung.failed(run)],
        seconds=round(sum(seconds), 1),
    )
