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
from tf_adapt.comparison.execution.runs import CellRun, Fold, Setting
from tf_adapt.comparison.plan.cells import Cell
from tf_adapt.comparison.search.space import RATE
from tf_adapt.statistics.scores import summary


class FoldOutcomes(Outcomes):
    """As `Outcomes`, of a comparison with folds; its seeds are repeats."""

    def _all_trials(self, cell: Cell) -> list[CellRun]:
        return [run for number in self._folds for run in self._trials_of(cell, number)]

    @property
    def _folds(self) -> range:
        return range(self.comparison.folds)

    def chosen(self, cell: Cell) -> CellRun | None:
        """The trial of the first fold with the rate that most folds chose, of equals the first of
        the cell's; None: not chosen."""
        chosen = self._chosen_of_folds(cell)
        if chosen is None:
            return None
        counts = Counter(run.rate for run in chosen)
        rates = cell.rates if cell.search is None else list(counts)
        most = max(rates, key=lambda rate: counts[rate])
        return next(run for run in chosen if run.rate == most)

    def chosen_rates(self, cell: Cell) -> list[float] | None:
        """The rate of each fold; None before all trials have ended, or if one's all diverged."""
        chosen = self._chosen_of_folds(cell)
        return chosen and [run.rate for run in chosen]

    def _chosen_of_folds(self, cell: Cell) -> list[CellRun] | None:
        if not cell.has_trials:
            return [self._run(cell, cell.rates[0], 0, number) for number in self._folds]
        if not all(map(self.is_over, self.trials(cell))) or self.is_hopeless(cell):
            return None
        return self.chosen_trials(cell)

    def chosen_trials(self, cell: Cell) -> list[CellRun]:
        """The best trial of each fold; none without trials."""
        if not cell.has_trials:
            return []
        return [self.best_on_dev(self._trials_of(cell, number)) for number in self._folds]

    def is_hopeless(self, cell: Cell) -> bool:
        """Whether all that was tried diverged in a fold, whose examples then have no answers."""
        if not cell.has_trials:
            return False
        of_folds = [self._trials_of(cell, number) for number in self._folds]
        return any(all(map(self.failed, trials)) for trials in of_folds)

    def _all_final_runs(self, cell: Cell) -> list[CellRun]:
        """The repeats, each with its fold runs; none before all rates are selected."""
        chosen = self._chosen_of_folds(cell)
        if chosen is None or self.trials_only:
            return []
        shown = self.chosen_rate(cell)
        repeats = []
        for repeat in self.comparison.seeds:
            folds = tuple(
                replace(
                    self._run(cell, trial.rate, repeat, number),
                    together=cell.together,
                    setting=trial.whole,
                )
                for number, trial in enumerate(chosen)
            )
            repeats.append(CellRun(cell, shown, repeat, self.out, folds=folds))
        return repeats

    @property
    def most_trials(self) -> int:
        """As `Outcomes.most_trials`, of all folds."""
        return self.comparison.folds * super().most_trials

    def scored_count(self, cell: Cell) -> int:
        """As `Outcomes.scored_count`; the chosen trials are the runs of the first repeat."""
        apart = cell.together or cell.search is not None or not cell.has_trials
        trials = 0 if apart else self.comparison.folds
        return self.comparison.folds * super().scored_count(cell) - trials

    def export_runs(self, cell: Cell) -> list[CellRun]:
        """The runs on all examples: one for each learning rate, of a search for each setting that a
        fold chose; or an ensemble with the best, which has a seed of its own."""
        fold, teacher = Fold(self.comparison.folds, None, 0), self._teacher_of_all(cell)
        seed = CHOOSING_SEED + 1 if cell.together else CHOOSING_SEED
        runs = [
            replace(self.run(cell, rate, seed), fold=fold, teacher=teacher, setting=setting)
            for rate, setting in self._choices(cell)
        ]
        if not cell.together or (len(runs) > 1 and not all(map(self.is_over, runs))):
            return runs
        best = self.best_on_dev(runs)
        return [replace(best, seed=CHOOSING_SEED, together=cell.together)]

    def _choices(self, cell: Cell) -> list[tuple[float, Setting | None]]:
        """What is tried on all examples: a rate, and of a search a setting of a fold."""
        if cell.search is None:
            return [(rate, None) for rate in cell.rates]
        settings = {}
        for number, run in enumerate(self._chosen_of_folds(cell) or ()):
            settings.setdefault(run.setting.values, replace(run.whole, of_fold=number))
        return [(dict(values)[RATE], setting) for values, setting in settings.items()]

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
        run = self._run(cell, cell.rates[0], 0, number)
        # Of a single model the chosen one of a few rates is scored; of a search, which chooses
        # among many, none is.
        if cell.together or cell.search is not None:
            run = replace(run, seed=CHOOSING_SEED + number)
        return self._tried(run)

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
