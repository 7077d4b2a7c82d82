"""The runs of a cross-validation: each fold of each repeat is trained and resumed by itself.

A repeat stands where a seed stands without folds: its answers to all examples are those of its fold
runs, each to the examples that it did not see. Learning rates are chosen fold by fold, on dev, in
the first repeat, whose chosen runs are scored; the other repeats have those rates.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from tf_adapt.comparison.execution.outcomes import CHOOSING_SEED, Outcomes
from tf_adapt.comparison.execution.runs import CellRun, Fold
from tf_adapt.comparison.plan.cells import Cell
from tf_adapt.statistics.scores import summary


class FoldOutcomes(Outcomes):
    """As `Outcomes`, of a comparison with folds; its seeds are repeats."""

    def trials(self, cell: Cell) -> list[CellRun]:
        """The runs that select the learning rate of each fold; none if there is a single rate."""
        if len(cell.rates) == 1:
            return []
        folds = range(self.comparison.folds)
        return [run for number in folds for run in self._trials_of(cell, number)]

    def chosen_rate(self, cell: Cell) -> float | None:
        """The rate that most folds chose, of equals the first of the cell's; None: not chosen."""
        rates = self.chosen_rates(cell)
        if rates is None:
            return None
        counts = Counter(rates)
        return max(cell.rates, key=lambda rate: counts[rate])

    def chosen_rates(self, cell: Cell) -> list[float] | None:
        """The rate of each fold; None before all trials have ended, or if one's all diverged."""
        if len(cell.rates) == 1:
            return [cell.rates[0]] * self.comparison.folds
        if not all(map(self.is_over, self.trials(cell))) or self.is_hopeless(cell):
            return None
        return [run.rate for run in self.chosen_trials(cell)]

    def chosen_trials(self, cell: Cell) -> list[CellRun]:
        """The best trial of each fold; none without trials."""
        if len(cell.rates) == 1:
            return []
        folds = range(self.comparison.folds)
        return [self.best_on_dev(self._trials_of(cell, number)) for number in folds]

    def is_hopeless(self, cell: Cell) -> bool:
        """Whether all rates diverged in a fold, whose examples then have no answers."""
        of_folds = [self._trials_of(cell, number) for number in range(self.comparison.folds)]
        return len(cell.rates) > 1 and any(all(map(self.failed, trials)) for trials in of_folds)

    def final_runs(self, cell: Cell) -> list[CellRun]:
        """The repeats, each with its fold runs; none before all rates are selected."""
        rates = self.chosen_rates(cell)
        if rates is None or self.trials_only:
            return []
        shown = self.chosen_rate(cell)
        repeats = []
        for repeat in self.comparison.seeds:
            runs = [self._run(cell, rate, repeat, number) for number, rate in enumerate(rates)]
            folds = tuple(replace(run, together=cell.together) for run in runs)
            repeats.append(CellRun(cell, shown, repeat, self.out, folds=folds))
        return repeats

    def scored_count(self, cell: Cell) -> int:
        """As `Outcomes.scored_count`; the chosen trials are the runs of the first repeat."""
        trials = 0 if cell.together or len(cell.rates) == 1 else self.comparison.folds
        return self.comparison.folds * super().scored_count(cell) - trials

    def export_runs(self, cell: Cell) -> list[CellRun]:
        """The runs on all examples: one for each learning rate, or an ensemble with the best, which
        has a seed of its own."""
        fold, teacher = Fold(self.comparison.folds, None, 0), self._teacher_of_all(cell)
        seed = CHOOSING_SEED + 1 if cell.together else CHOOSING_SEED
        runs = [
            replace(self.run(cell, rate, seed), fold=fold, teacher=teacher) for rate in cell.rates
        ]
        if not cell.together or (len(runs) > 1 and not all(map(self.is_over, runs))):
            return runs
        best = self.best_on_dev(runs)
        return [replace(best, seed=CHOOSING_SEED, together=cell.together)]

    def waiting(self) -> Iterator[CellRun]:
        """As `Outcomes.waiting`; at last those on all examples."""
        yield from super().waiting()
        if self.refit is not None:
            yield from self._to_export(self.refit)

    def metrics(self, run: CellRun) -> dict[str, Any] | None:
        """As `Outcomes.metrics`; of a repeat the means of its fold runs, and the most memory."""
        if not run.folds:
            return super().metrics(run)
        of_folds = [metrics for fold in run.folds if (metrics := self.metrics(fold)) is not None]
        if len(of_folds) < len(run.folds):
            return None
        first = of_folds[0]
        means = {
            key: {name: _mean([metrics[key][name] for metrics in of_folds]) for name in first[key]}
            for key in ("test", "dev", "seconds")
        }
        cut = sum(metrics["truncated"].get("test", 0) for metrics in of_folds)
        return (
            first
            | means
            | {"peak_memory_mb": max(metrics["peak_memory_mb"] for metrics in of_folds)}
            | {"truncated": first["truncated"] | {"test": cut}}
        )

    def _to_export(self, cell: Cell) -> Iterator[CellRun]:
        """Its unfinished runs on all examples, after those of the cell that teaches it."""
        runs = self.export_runs(cell)
        if cell.teacher is not None and runs[0].teacher is None:
            yield from self._to_export(self._teaching_cell(cell))
        else:
            yield from (leaf for run in runs for leaf in self._leaves(run))

    def _teacher_of_all(self, cell: Cell) -> CellRun | None:
        """The run on all examples that teaches one to export; None: there is none, or it has not
        ended."""
        if cell.teacher is None:
            return None
        runs = self.export_runs(self._teaching_cell(cell))
        return self.best_on_dev(runs) if all(map(self.is_over, runs)) else None

    def _trials_of(self, cell: Cell, number: int) -> list[CellRun]:
        runs = [self._run(cell, rate, 0, number) for rate in cell.rates]
        if not cell.together:
            return runs
        return [replace(run, seed=CHOOSING_SEED + number) for run in runs]

    def _run(self, cell: Cell, rate: float, repeat: int, number: int) -> CellRun:
        """The run of a fold, with a seed that no other has."""
        folds = self.comparison.folds
        run = self.run(cell, rate, repeat * folds + number)
        teacher = self._teacher(cell, repeat, number)
        return replace(run, fold=Fold(folds, number, repeat), teacher=teacher)

    def _teacher(self, cell: Cell, repeat: int, number: int) -> CellRun | None:
        """The run of the same fold that teaches: it saw none of what its student is scored on."""
        if cell.teacher is None:
            return None
        repeats = self.final_runs(self._teaching_cell(cell))
        return repeats[repeat].folds[number] if repeats else None


def _mean(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return summary(known).mean if len(known) == len(values) else None
