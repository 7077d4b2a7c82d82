"""The outcomes of a comparison's runs, and their order."""

import copy
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tf_adapt.comparison.execution.runs import CellRun, Setting
from tf_adapt.comparison.plan.cells import Cell, Comparison
from tf_adapt.comparison.search.trials import trials_of
from tf_adapt.errors import ConfigError
from tf_adapt.runs import ensemble_folder, run_folder
from tf_adapt.runs.finished_run import module_in_words
from tf_adapt.runs.teachers import identity_of

# The seed of trials of learning rates: beyond all scored seeds (compare.seeds).
CHOOSING_SEED = 1000
# Keys of a member's `metrics.json` that are not those of its ensemble.
_OF_ONE = ("layer_weights", "forgetting", "slices", "quality")


class Outcomes:
    """The outcomes of a comparison's runs, read from their folders once.

    Attributes:
        trials_only: whether it has no final runs.
        refit: with folds the cell that is trained on all examples too, for its export; or None.
        examples: the number of training examples of its trials and final runs (None: all); by
            default the largest of the comparison's.
    """

    def __init__(self, comparison: Comparison, out: Path, trials_only: bool = False):
        self.comparison = comparison
        self.out = out
        self.trials_only = trials_only
        self.refit: Cell | None = None
        self.examples = comparison.sizes[-1]
        self._metrics: dict[Path, dict[str, Any]] = {}
        self._settings: dict[tuple, list[Setting]] = {}
        # What no longer changes: progress asks for all runs whenever one has ended.
        self._known_runs: dict[tuple, list[CellRun]] = {}
        self._ended_cells: set[tuple] = set()

    def of_sizes(self) -> "list[Outcomes]":
        """The outcomes at each number of training examples, ascending."""
        return list(map(self._of_size, self.comparison.sizes))

    def _of_size(self, examples: int | None) -> "Outcomes":
        of_size = copy.copy(self)  # shares the cached metrics
        of_size.examples = examples
        return of_size

    def run(self, cell: Cell, rate: float, seed: int) -> CellRun:
        """The run of a cell with a learning rate and a seed."""
        start = self.start(cell)
        folder = None if start is None else start.folder
        teacher = self.teacher(cell, seed)
        return CellRun(cell, rate, seed, self.out, self.examples, folder, teacher)

    def start(self, cell: Cell) -> CellRun | None:
        """The run that is trained before those of a cell, which all start from it."""
        start = cell.config.start
        first = None if start is None else self.comparison.starts.get(start.config)
        return None if first is None else self.start_run(first)

    def teacher(self, cell: Cell, seed: int) -> CellRun | None:
        """The run that teaches one of a cell: with its seed, trials by the first; None: there is
        none, or its learning rate is not chosen yet."""
        if cell.teacher is None:
            return None
        runs = {run.seed: run for run in self.final_runs(self._teaching_cell(cell))}
        return runs.get(seed, next(iter(runs.values()), None))

    def _teaching_cell(self, cell: Cell) -> Cell:
        return next(other for other in self.comparison.cells if other.name == cell.teacher)

    def start_run(self, first: Cell) -> CellRun:
        """The run of one of the comparison's `starts`: with its own seed, on all of its data."""
        return CellRun(first, first.rates[0], first.config.training.seed, self.out)

    def metrics(self, run: CellRun) -> dict[str, Any] | None:
        """The `metrics.json` of a finished run, or None; of an ensemble as `_of_ensemble`."""
        if run.folder not in self._metrics:
            read = self._of_ensemble if run.together else _of_training
            metrics = read(run)
            if metrics is None:
                return None
            self._metrics[run.folder] = metrics
        return self._metrics[run.folder]

    def _of_ensemble(self, run: CellRun) -> dict[str, Any] | None:
        """What a `metrics.json` of an ensemble would be: its scores, and the sums of its members'
        parameters and seconds. They may share a process, so that memory is the most of any."""
        if not (run.folder / ensemble_folder.ENSEMBLE).is_file():
            return None
        members = [metrics for member in run.members if (metrics := self.metrics(member))]
        if len(members) < run.together:
            return None
        ensemble_file = ensemble_folder.read(run.folder)
        scores = {
            split: {ensemble_file.metric: result.ensemble}
            for split, result in ensemble_file.results.items()
        }
        not_shared = (*_OF_ONE, "weak") if run.cell.parts else _OF_ONE
        # Members may have other encoders than the cell: module and family are of one with its own.
        named = [module_in_words(member.encoder) for member in run.members]
        module = module_in_words(run.cell.config.encoder)
        number = named.index(module) if module in named else 0
        not_shared += () if module in named else ("module", "family", "encoder")
        first = {key: value for key, value in members[number].items() if key not in not_shared}
        sums = {key: _sum([member[key] for member in members]) for key in ("parameters", "seconds")}
        if run.cell.combine == ensemble_folder.WEIGHTS:  # one model, which serves like a member
            sums["parameters"] = members[0]["parameters"]
            served = {k: v for k, v in members[0]["seconds"].items() if k.startswith("serving")}
            sums["seconds"] |= served
        memory = max(member["peak_memory_mb"] for member in members)
        return first | scores | sums | {"peak_memory_mb": memory}

    def failed(self, run: CellRun) -> bool:
        """Whether a run diverged: its loss or gradient was not finite; or one of its members or
        its teacher, which it then never has."""
        if run.failure.is_file():
            return True
        if run.cell.teacher is not None and run.teacher is None:
            return self._of_size(run.examples).has_no_teacher(run.cell)
        needed = [*run.members, *run.folds, *([run.teacher] if run.teacher else ())]
        return any(map(self.failed, needed))

    def has_no_teacher(self, cell: Cell) -> bool:
        """Whether the runs of a cell lack their teachers for good, which diverged."""
        if cell.teacher is None:
            return False
        other = self._teaching_cell(cell)
        final = self.final_runs(other)
        return self.is_hopeless(other) or (bool(final) and all(map(self.failed, final)))

    def is_hopeless(self, cell: Cell) -> bool:
        """Whether a cell diverged with all that was tried, so that nothing is chosen."""
        trials = self.trials(cell)
        return bool(trials) and all(map(self.failed, trials))

    def is_over(self, run: CellRun) -> bool:
        """Whether a run has finished or diverged."""
        return self.metrics(run) is not None or self.failed(run)

    def score(self, run: CellRun, split: str) -> float | None:
        """The metric of a run on a split; None if unfinished, undefined, or without the split."""
        metrics = self.metrics(run)
        return None if metrics is None else metrics.get(split, {}).get(metrics["metric"])

    def is_start(self, run: CellRun) -> bool:
        """Whether a run is one of the comparison's `starts`."""
        return any(run.cell.name == start.name for start in self.comparison.starts.values())

    def trials(self, cell: Cell) -> list[CellRun]:
        """The runs that select a cell's learning rate or setting; none if it has a single rate. Of
        a search those that are over and the next.

        Their seed is not scored: the maximum of several scores is biased upwards, the more so, the
        less stable the cell.
        """
        if not cell.has_trials:
            return []
        return self._once("trials", cell, self._all_trials, cell.search is None)

    def _all_trials(self, cell: Cell) -> list[CellRun]:
        return self._tried(self._untried(cell))

    def _once(
        self, what: str, cell: Cell, runs_of: Callable[[Cell], list[CellRun]], lasts: bool = True
    ) -> list[CellRun]:
        """Runs of a cell, which stay the same once there are some; not of a student, whose runs get
        their teachers later."""
        key = what, cell.name, cell.more_epochs, self.examples
        if key in self._known_runs:
            return self._known_runs[key]
        runs = runs_of(cell)
        if runs and lasts and cell.teacher is None:
            self._known_runs[key] = runs
        return runs

    def _untried(self, cell: Cell) -> CellRun:
        return self.run(cell, cell.rates[0], CHOOSING_SEED)

    def _tried(self, run: CellRun) -> list[CellRun]:
        """The trials of a run without choice."""
        if run.cell.search is None:
            return [replace(run, rate=rate) for rate in run.cell.rates]
        known = self._settings.setdefault((run.cell.name, run.examples, run.fold), [])
        return trials_of(run, known, self.metrics, 1 / (self.comparison.folds or 1))

    def chosen_rates(self, cell: Cell) -> float | list[float] | None:
        """The rate of the final runs; with folds of each fold."""
        return self.chosen_rate(cell)

    def chosen_settings(self, cell: Cell) -> list[Setting]:
        """The chosen setting of a search, with folds that of each; empty: no search, or not yet."""
        final = self.final_runs(cell)
        runs = [] if not final else final[0].folds or final[:1]
        return [run.setting for run in runs if run.setting is not None]

    def export_runs(self, cell: Cell) -> list[CellRun]:
        """The runs of which the best on dev is exported."""
        return [run for run in self.final_runs(cell) if self.metrics(run) is not None]

    def chosen_trials(self, cell: Cell) -> list[CellRun]:
        """The best trial; with folds that of each fold; none without trials."""
        trials = self.trials(cell)
        return [self.best_on_dev(trials)] if trials else []

    def chosen_rate(self, cell: Cell) -> float | None:
        """The learning rate of the final runs; with folds that of most."""
        run = self.chosen(cell)
        return None if run is None else run.rate

    def chosen(self, cell: Cell) -> CellRun | None:
        """The trial with the best dev score (the first of equals); of a single rate any run.

        None before all trials have ended, or if all diverged.
        """
        if not cell.has_trials:
            return self._untried(cell)
        trials = self.trials(cell)
        if not all(map(self.is_over, trials)) or self.is_hopeless(cell):
            return None
        return self.best_on_dev(trials)

    def best_on_dev(self, runs: Sequence[CellRun]) -> CellRun:
        """The run with the best dev score (the first of equals); runs without a score rank last."""
        scores = [self.score(run, "dev") for run in runs]
        ranked = [-math.inf if score is None else score for score in scores]
        return runs[ranked.index(max(ranked))]

    def final_runs(self, cell: Cell) -> list[CellRun]:
        """The scored runs: all seeds with what was selected; none before it is selected."""
        return self._once("final", cell, self._all_final_runs)

    def _all_final_runs(self, cell: Cell) -> list[CellRun]:
        chosen = self.chosen(cell)
        if chosen is None or self.trials_only:
            return []
        runs = [self.run(cell, chosen.rate, seed) for seed in self.comparison.seeds]
        return [replace(run, together=cell.together, setting=chosen.whole) for run in runs]

    def waiting(self) -> Iterator[CellRun]:
        """Unfinished runs of all sizes that can start: first those that others start from, then
        cell by cell, first trials, then seeds.

        Trainable encoders and large sizes come first: they take longest, and parallel processes
        should end at about the same time.
        """
        starts = map(self.start_run, self.comparison.starts.values())
        yield from (run for run in starts if not self.is_over(run))
        for cell in sorted(
            self.comparison.cells, key=lambda cell: not cell.config.adaptation.trains_encoder
        ):
            start = self.start(cell)
            if start is None or self.is_over(start):
                yield from filter(self._is_teacher_there, self._unfinished(cell))

    def _is_teacher_there(self, run: CellRun) -> bool:
        if run.teacher is None:
            return run.cell.teacher is None
        return self.metrics(run.teacher) is not None

    def unfinished_cells(self) -> int:
        """The number of cells with unfinished runs, among them those that wait for others."""
        return sum(any(self._unfinished(cell)) for cell in self.comparison.cells)

    def _unfinished(self, cell: Cell) -> Iterator[CellRun]:
        for of_size in self.of_sizes()[::-1]:
            key = cell.name, cell.more_epochs, of_size.examples
            if key not in self._ended_cells:
                leaves = 0
                for run in [*of_size.trials(cell), *of_size.final_runs(cell)]:
                    for leaf in self._leaves(run):
                        leaves += 1
                        yield leaf
                if not leaves:
                    self._ended_cells.add(key)

    def _leaves(self, run: CellRun) -> list[CellRun]:
        """The run, or those that it needs first; none if it has ended. All folds are trained, even
        if one diverged."""
        if not run.folds and self.is_over(run):
            return []
        needed = [leaf for part in (*run.folds, *run.members) for leaf in self._leaves(part)]
        return needed or ([] if run.folds else [run])

    def counts(self) -> tuple[int, int]:
        """The number of ended runs, and of all runs, over all sizes."""
        starts = list(map(self.start_run, self.comparison.starts.values()))
        over, total = sum(map(self.is_over, starts)), len(starts)
        for of_size, cell in itertools.product(self.of_sizes(), self.comparison.cells):
            runs = [*of_size.trials(cell), *of_size.scored_runs(cell)]
            runs += [member for run in runs for member in run.members]
            over += sum(map(self.is_over, {run.folder: run for run in runs}.values()))
            total += of_size.trials_count(cell)
            total += 0 if of_size.is_hopeless(cell) else of_size.scored_count(cell)
        return over, total

    def trials_count(self, cell: Cell) -> int:
        """The number of trials; of a search that of its budget, of which minutes may leave some."""
        is_searching = cell.search is not None and self.chosen(cell) is None
        return self.most_trials if is_searching else len(self.trials(cell))

    @property
    def most_trials(self) -> int:
        """The budget of a cell's trials."""
        return self.comparison.trials

    def scored_runs(self, cell: Cell) -> list[CellRun]:
        """The trainings and ensembles of the final runs."""
        return [part for run in self.final_runs(cell) for part in run.folds or (run,)]

    def scored_count(self, cell: Cell) -> int:
        """The number of trainings and ensembles of the final runs, but for trials among them."""
        return len(self.comparison.seeds) * (1 + cell.together)


def _of_training(run: CellRun) -> dict[str, Any] | None:
    """The `metrics.json` of a finished training, or None."""
    metrics = run_folder.finished_metrics(run.folder)
    if metrics is not None and run.teacher is not None:
        teacher = identity_of(run.teacher.folder).hash
        if metrics["taught"]["hash"] != teacher:
            raise ConfigError(
                f"{run.folder}: expected a run that learned from {run.teacher.folder}, whose "
                f"learning rate is the chosen one, got one that learned from "
                f"{metrics['taught']['run']}; remove its folder, and the same command makes it "
                "again"
            )
    return metrics


def _sum(rows: list[dict[str, float]]) -> dict[str, float]:
    return {key: sum(row[key] for row in rows) for key in rows[0]}
