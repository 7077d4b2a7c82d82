"""The runs of a rung: cells with fewer epochs and examples, and a seed that is never scored."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from tf_adapt.adaptation.adaptations import (
    chain_thaw,
    gradual_unfreezing,
    sequential_unfreezing,
    two_stage,
)
from tf_adapt.comparison.budget.costs import MeasuredRun
from tf_adapt.comparison.budget.halving import RUNGS
from tf_adapt.comparison.cell_results import CHOSEN_ON, SCORED_ON
from tf_adapt.comparison.execution.outcomes import Outcomes
from tf_adapt.comparison.execution.runs import CellRun, Fold
from tf_adapt.comparison.plan.cells import Cell, Comparison

# Beyond all scored seeds and repeats (compare.seeds), with folds times their number; each rung has
# one of its own.
SCREENING_SEED = 1500
# Of the first rung: before, a tuned encoder has hardly left chance.
FEWEST_STEPS = 100
# Adaptations in stages, of which fewer epochs would cut off the last.
_IN_STAGES = {
    one.__name__ for one in (two_stage, gradual_unfreezing, chain_thaw, sequential_unfreezing)
}


class Screening(Outcomes):
    """The outcomes of a rung.

    With folds, each run is one fold of a repeat that is never scored, and its score is that on the
    examples of the fold; else on dev.

    Args:
        rates: those tried, by name of cell.
        number: of the rung, from 0.
        available: the number of training examples of a scored run.
        is_late: whether nothing more is begun but runs of cells without any.
    """

    def __init__(
        self,
        comparison: Comparison,
        out: Path,
        rates: Mapping[str, Sequence[float]],
        number: int,
        available: int,
        is_late: Callable[[], bool] = lambda: False,
    ):
        self.rates, self.number, self.available = rates, number, available
        self.is_late = is_late
        whole = [cell for cell in comparison.cells if cell.name in rates]
        self.whole_epochs = {cell.name: cell.config.training.epochs for cell in whole}
        cells = [_shortened(cell, number, available) for cell in whole]
        sizes = comparison.sizes[-1:]
        comparison = replace(comparison, cells=tuple(cells), seeds=(), sizes=sizes)
        super().__init__(comparison, out, trials_only=True)

    def trials(self, cell: Cell) -> list[CellRun]:
        """A run for each rate."""
        folds = self.comparison.folds
        seed = SCREENING_SEED * max(1, folds) + self.number
        fold = Fold(folds, self.number % folds, SCREENING_SEED) if folds else None
        examples = self._examples(cell)
        return [
            replace(self.run(cell, rate, seed), examples=examples, fold=fold)
            for rate in self.rates[cell.name]
        ]

    def waiting(self) -> Iterator[CellRun]:
        """As `Outcomes.waiting`."""
        late = self.is_late()
        for run in super().waiting():
            if not late or not any(map(self.is_over, self.trials(run.cell))):
                yield run

    def scores(self) -> dict[str, dict[float, float | None]]:
        """By cell and rate, of the runs that are over; None: it diverged, or is undefined."""
        split = SCORED_ON if self.comparison.folds else CHOSEN_ON
        return {
            cell.name: {
                run.rate: self.score(run, split) for run in self.trials(cell) if self.is_over(run)
            }
            for cell in self.comparison.cells
        }

    def measured(self) -> list[MeasuredRun]:
        """The finished runs."""
        return [
            MeasuredRun(cell.name, *self.shares(cell), metrics["seconds"])
            for cell in self.comparison.cells
            for run in self.trials(cell)
            if (metrics := self.metrics(run)) is not None
        ]

    def shares(self, cell: Cell) -> tuple[float, float]:
        """The shares of epochs and examples that a cell is trained with."""
        examples = self._examples(cell)
        part = 1.0 if examples is None else examples / self.available
        return cell.config.training.epochs / self.whole_epochs[cell.name], part

    def _examples(self, cell: Cell) -> int | None:
        """As many as a scored run (None: all of train) at most. A fold needs all of its examples, a
        slice with a head its members, and stages of so many steps as many steps."""
        in_steps = cell.config.adaptation.unit == "steps"
        if self.comparison.folds or cell.config.slice_heads or in_steps:
            return self.examples
        rung, training = RUNGS[self.number], cell.config.training
        share = rung.examples * (rung.epochs if _is_in_stages(cell) else 1.0)
        fewest = fewest_steps(self.number) * training.batch_size / training.epochs
        count = math.ceil(max(share * self.available, fewest))
        return self.examples if count >= self.available else count


def fewest_steps(number: int) -> int:
    """The steps of a rung below which neither epochs nor examples are left out."""
    return FEWEST_STEPS * 2**number


def _is_in_stages(cell: Cell) -> bool:
    return cell.config.adaptation.name in _IN_STAGES or bool(cell.config.training.target_epochs)


def _shortened(cell: Cell, number: int, available: int) -> Cell:
    """The cell with the epochs of a rung, more where the steps of one are few."""
    training = cell.config.training
    whole = training.epochs
    fewest = math.ceil(fewest_steps(number) * training.batch_size / available)
    epochs = min(whole, max(1, round(RUNGS[number].epochs * whole), fewest))
    if epochs == whole or _is_in_stages(cell):
        return cell
    training = training.model_copy(update={"epochs": epochs})
    config = cell.config.model_copy(update={"training": training})
    return replace(cell, config=config, more_epochs=epochs)
