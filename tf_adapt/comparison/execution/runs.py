"""The runs of a comparison: their folders, outcomes and order.

A run is one call of `tf-adapt train`; its folder tells whether it has finished. A diverged run is
marked by a file beside its folder, since it would diverge again.
"""

import copy
import itertools
import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from hub_modules.storage.files import write_text
from hub_modules.storage.strict_yaml import float_text
from tf_adapt.comparison.plan.cells import Cell, Comparison
from tf_adapt.errors import ConfigError
from tf_adapt.runs import ensemble_folder, run_folder
from tf_adapt.runs.teachers import identity_of

# The seed of trials of learning rates: beyond all scored seeds (compare.seeds).
CHOOSING_SEED = 1000
# The first seed of the members of ensembles: beyond all others.
MEMBERS_SEED = 2000
# Keys of a member's `metrics.json` that are not those of its ensemble.
_OF_ONE = ("layer_weights", "forgetting", "slices", "quality")


@dataclass(frozen=True)
class Fold:
    """A fold of a cross-validation, as the config's `data.fold`."""

    of: int
    leave_out: int | None
    seed: int


@dataclass(frozen=True)
class CellRun:
    """A run: a cell with one learning rate, one seed and a number of training examples.

    Attributes:
        examples: the number of training examples, drawn with the seed; None: all.
        start: the folder of the run that is trained before it, in place of the config that it
            starts from.
        teacher: the run whose answers it learns from, in place of the signal that its config names.
        together: the number of its members, whose answers are averaged; 0: it is a training.
        drawn: the seed of the parts of train; None: its own.
        left_out: the part of train that a member does without; None: it has all.
        fold: which fold it is trained without, and answers; None: its data have a test split.
        folds: the runs whose answers together are those to all examples; it is then no training.
    """

    cell: Cell
    rate: float
    seed: int
    out: Path
    examples: int | None = None
    start: Path | None = None
    teacher: "CellRun | None" = None
    together: int = 0
    drawn: int | None = None
    left_out: int | None = None
    fold: Fold | None = None
    folds: "tuple[CellRun, ...]" = ()

    @property
    def members(self) -> "list[CellRun]":
        """The trainings of an ensemble, with seeds that no other run has, on its part of train."""
        first = MEMBERS_SEED + self.seed * self.together
        members = [
            replace(self, seed=seed, together=0, drawn=self.seed)
            for seed in range(first, first + self.together)
        ]
        if self.cell.parts is None:
            return members
        return [replace(member, left_out=number) for number, member in enumerate(members)]

    @property
    def folder(self) -> Path:
        """The run folder."""
        home = self.out / "runs" / self.cell.name
        if self.cell.more_epochs is not None:
            home /= f"epochs_{self.cell.more_epochs}"
        if self.examples is not None:
            home /= f"examples_{self.examples}"
        if self.folds:
            return home / f"repeat_{self.seed}"
        if self.fold is not None:
            number = self.fold.leave_out
            home /= "all_examples" if number is None else f"fold_{number}"
        return home / f"rate_{float_text(self.rate)}" / f"seed_{self.seed}"

    @property
    def config(self) -> Path:
        """The config of the cell, for `tf-adapt train`."""
        return self.out / config_name(self.cell)

    @property
    def log(self) -> Path:
        """The file of the run's stdout and stderr."""
        return self.folder.with_suffix(".log")

    @property
    def failure(self) -> Path:
        """The file with the reason why the run diverged; exists only if it did."""
        return self.folder.with_suffix(".failed")

    def arguments(self, cache: Path | None = None) -> list[str]:
        """The arguments of `tf-adapt` for this run."""
        if self.together:
            trust = ["--trust"] if self.cell.config.encoder.trust else []
            members = [str(member.folder) for member in self.members]
            return ["ensemble", *members, "--out", str(self.folder), *trust]
        arguments = ["train", str(self.config), "--out", str(self.folder)]
        arguments += ["--set", f"training.learning_rate={float_text(self.rate)}"]
        if self.cell.more_epochs is not None:
            arguments += ["--set", f"training.epochs={self.cell.more_epochs}"]
        if self.start is not None:
            start = json.dumps(str(self.start), ensure_ascii=False)
            arguments += ["--set", f"start.run={start}", "--set", "start.config=null"]
        if self.teacher is not None:
            teacher = json.dumps(str(self.teacher.folder), ensure_ascii=False)
            arguments += ["--set", f"teacher.run={teacher}"]
        if self.fold is not None:
            fold = json.dumps(asdict(self.fold))
            # A fold may have no example of a slice; slices are scored on all answers together.
            arguments += ["--set", f"{self._data}.fold={fold}", "--set", "slices={}"]
        if self.left_out is not None:
            part = {"of": self.cell.parts, "part": self.left_out, "seed": self.drawn}
            arguments += ["--set", f"data.leave_out={json.dumps(part)}"]
        if self.examples is not None:
            arguments += ["--set", f"{self._data}.train_examples={self.examples}"]
            drawn = self.seed if self.drawn is None else self.drawn
            arguments += ["--set", f"{self._data}.train_examples_seed={drawn}"]
        if cache is not None:
            arguments += ["--set", f"features.cache={json.dumps(str(cache), ensure_ascii=False)}"]
        return [*arguments, "--seed", str(self.seed)]

    @property
    def _data(self) -> str:
        """The section of its data in the config."""
        target = self.cell.config.target
        return "data" if target is None else f"tasks.{target}.data"


def config_name(cell: Cell) -> str:
    """The path of a cell's config in the comparison's folder."""
    return f"cells/{cell.name}.yaml"


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
        if not ensemble_folder.is_ensemble(run.folder):
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
        first = {key: value for key, value in members[0].items() if key not in not_shared}
        sums = {key: _sum([member[key] for member in members]) for key in ("parameters", "seconds")}
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
        """Whether a cell diverged with all of its learning rates, so that none is chosen."""
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
        """The runs that select a cell's learning rate; none if it has a single rate.

        Their seed is not scored: the maximum of several scores is biased upwards, the more so, the
        less stable the cell.
        """
        if len(cell.rates) == 1:
            return []
        return [self.run(cell, rate, CHOOSING_SEED) for rate in cell.rates]

    def chosen_rates(self, cell: Cell) -> float | list[float] | None:
        """The rate of the final runs; with folds of each fold."""
        return self.chosen_rate(cell)

    def export_runs(self, cell: Cell) -> list[CellRun]:
        """The runs of which the best on dev is exported."""
        return [run for run in self.final_runs(cell) if self.metrics(run) is not None]

    def chosen_trials(self, cell: Cell) -> list[CellRun]:
        """The best trial; with folds that of each fold; none without trials."""
        trials = self.trials(cell)
        return [self.best_on_dev(trials)] if trials else []

    def chosen_rate(self, cell: Cell) -> float | None:
        """The rate with the best dev score (the first of equals); a single rate needs no trials.

        None before all trials have ended, or if all diverged.
        """
        trials = self.trials(cell)
        if not trials:
            return cell.rates[0]
        if not all(map(self.is_over, trials)) or self.is_hopeless(cell):
            return None
        return self.best_on_dev(trials).rate

    def best_on_dev(self, runs: Sequence[CellRun]) -> CellRun:
        """The run with the best dev score (the first of equals); runs without a score rank last."""
        scores = [self.score(run, "dev") for run in runs]
        ranked = [-math.inf if score is None else score for score in scores]
        return runs[ranked.index(max(ranked))]

    def final_runs(self, cell: Cell) -> list[CellRun]:
        """The scored runs: all seeds with the selected rate; none before it is selected."""
        rate = self.chosen_rate(cell)
        if rate is None or self.trials_only:
            return []
        runs = [self.run(cell, rate, seed) for seed in self.comparison.seeds]
        return [replace(run, together=cell.together) for run in runs]

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
            for run in [*of_size.trials(cell), *of_size.final_runs(cell)]:
                yield from self._leaves(run)

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
            total += len(of_size.trials(cell))
            total += 0 if of_size.is_hopeless(cell) else of_size.scored_count(cell)
        return over, total

    def scored_runs(self, cell: Cell) -> list[CellRun]:
        """The trainings and ensembles of the final runs."""
        return [part for run in self.final_runs(cell) for part in run.folds or (run,)]

    def scored_count(self, cell: Cell) -> int:
        """The number of trainings and ensembles of the final runs, but for trials among them."""
        return len(self.comparison.seeds) * (1 + cell.together)


def _of_training(run: CellRun) -> dict[str, Any] | None:
    """The `metrics.json` of a finished training, or None.

    Raises:
        ConfigError: another run is its teacher by now.
    """
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


def remember_failure(run: CellRun, message: str) -> None:
    """Marks a run as diverged."""
    write_text(run.failure, message + "\n")
