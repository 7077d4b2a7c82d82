"""A comparison within minutes: rungs of a screening, then seeds of the finalists, by the clock.

What is decided is in the record of the folder, and scores are in run folders, so that a comparison
that was ended goes on. Screening scores decide which cells are scored, and nothing else. Imports no
TensorFlow.
"""

import os
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from tf_adapt.comparison.budget.clock import Clock
from tf_adapt.comparison.budget.costs import Pace, pace_of
from tf_adapt.comparison.budget.halving import (
    FEWEST_CELLS,
    RUNGS,
    Rates,
    finalists,
    group_of,
    kept,
    needs_rung,
    wanted,
)
from tf_adapt.comparison.budget.progress import (
    Progress,
    RungRecord,
    of_finalists,
    read_progress,
    write_progress,
)
from tf_adapt.comparison.budget.screening import Screening
from tf_adapt.comparison.execution.fold_outcomes import FoldOutcomes
from tf_adapt.comparison.execution.outcomes import Outcomes
from tf_adapt.comparison.execution.running import Until
from tf_adapt.comparison.plan.cells import Comparison
from tf_adapt.printing.words import counted
from tf_adapt.statistics.relation import FEWEST_REPEATS, FEWEST_SEEDS

# Trains all unfinished runs, until something holds; the number of processes at a time.
Run = Callable[[Outcomes, Until | None], int]
# The first rung ends after this share of the minutes, if each cell has a score by then.
FIRST_RUNG = 0.5
# What a seed takes by itself, of its share of several: processes are started for it.
ALONE = 1.25


@dataclass(frozen=True)
class Budgeted:
    """A comparison within minutes, and where it is executed.

    Attributes:
        available: the number of training examples of a scored run.
        at_end: as `ending_of`.
        run: trains runs.
        say: prints a sentence once.
    """

    comparison: Comparison
    out: Path
    available: int
    at_end: float
    clock: Clock
    run: Run
    say: Callable[[str], None]

    def train(self) -> None:
        """Trains what the minutes allow; what is decided is written into the record."""
        self._change(minutes=self.comparison.minutes)
        self.clock.go_on(self.progress.used, lambda used: self._change(used=used))
        if self.progress.used:
            self.say(f"{_minutes(self.progress.used)} are used already")
        else:
            self.say(self._promise())
        try:
            while self.progress.finalists is None:
                self._next_rung()
            self._seeds()
        finally:  # after a signal, too
            self._change(used=self.clock.used)

    @property
    def progress(self) -> Progress:
        """As the record says."""
        return read_progress(self.out)

    def _promise(self) -> str:
        cells = len(self.comparison.cells)
        return (
            f"within {self.comparison.minutes:g} minutes: screens {counted(cells, 'cell')}, then "
            f"scores at least {min(FEWEST_CELLS, cells)} with {counted(self._fewest, self._seed)}; "
            "where these take longer, which --dry-run tells, the report comes after them"
        )

    def _change(self, **values) -> None:
        write_progress(self.out, replace(self.progress, **values))

    def _next_rung(self) -> None:
        """Trains the rung that has not ended, and decides what follows."""
        rungs = self.progress.rungs
        if not rungs:
            rungs = [RungRecord({cell.name: list(cell.rates) for cell in self.comparison.cells})]
            self._change(rungs=rungs)
        number = len(rungs) - 1
        if rungs[number].ended is None:
            self._train_rung(number)
        rungs, groups = self.progress.rungs, groups_of(self.comparison)
        scores = [rung.scores() for rung in screenings(self.comparison, self.out, self.available)]
        going, pace = kept(rungs[-1].rates, scores, groups), self._pace()
        enough, is_last = wanted(len(groups)), number + 1 == len(RUNGS)
        if not is_last and needs_rung(going, enough) and self._has_time(going, pace):
            self._change(rungs=[*rungs, RungRecord({n: list(r) for n, r in going.items()})])
            return
        self._change(finalists=finalists(rungs[-1].rates, scores, groups, FEWEST_CELLS))

    def _train_rung(self, number: int) -> None:
        is_first, clock = number == 0, self.clock
        end = FIRST_RUNG * clock.total if is_first else clock.total - self._shortest(self._pace())
        rung = Screening(
            self.comparison,
            self.out,
            self.progress.rungs[number].rates,
            number,
            self.available,
            lambda: is_first and clock.used > end,
        )
        over, total = rung.counts()
        self.say(f"screening {number + 1}: {counted(total, 'run')}, {over} of them there already")

        def is_over() -> bool:
            return clock.tick() > end and not is_first

        begun, before = clock.used, worked_seconds()
        processes = self.run(rung, is_over)
        if worked := worked_seconds() - before:
            at_once = min(processes, total - over)
            self._change(load=max(1.0, at_once * (clock.used - begun) / worked))
        if is_first:
            # Resumed there may be fewer unfinished cells than processes.
            self._change(processes=max(processes, self.progress.processes))
        rungs = self.progress.rungs
        rungs[number] = replace(rungs[number], ended=clock.used)
        self._change(rungs=rungs)

    def _seeds(self) -> None:
        """Trains the fewest seeds of the finalists that are tested, then one at a time."""
        if not self.progress.seeds:
            self._fewest_seeds()
        # As kept: were it estimated anew, the same command might have time for one more.
        a_seed = self.progress.a_seed
        for seeds in range(self.progress.seeds + 1, len(self.comparison.seeds) + 1):
            begun = self.clock.used
            if not self._is_in_time(a_seed) or not self._trains(self.progress.finalists, seeds):
                return
            a_seed = max(a_seed, self.clock.used - begun)
            self._change(seeds=seeds, seconds=self.clock.used, a_seed=a_seed)

    def _fewest_seeds(self) -> None:
        """Of the fewest finalists, then of one more at a time."""
        outcomes, begun = self._outcomes(self.progress.finalists, self._fewest), self.clock.used
        were_there = outcomes.counts()[0]
        self._announce(outcomes)
        self.run(outcomes, self._ticked)
        groups, tried = groups_of(self.comparison), self.progress.rungs[-1].rates
        pace = self._pace()
        scores = [rung.scores() for rung in screenings(self.comparison, self.out, self.available)]
        for count in range(FEWEST_CELLS + 1, min(wanted(len(groups)), len(tried)) + 1):
            more = finalists(tried, scores, groups, count)
            added = set(more) - set(self.progress.finalists)
            seconds = pace.seconds(self._runs_of(added, self._fewest))
            if not self._is_in_time(seconds) or not self._trains(more, self._fewest):
                break
            self._change(finalists=more)
        used = self.clock.used
        a_seed = self._pace().seconds(self._runs_of(self.progress.finalists, 1))
        if not were_there:
            a_seed = ALONE * (used - begun) / self._fewest
        self._change(seeds=self._fewest, seconds=used, a_seed=a_seed)

    def _trains(self, chosen: dict[str, float], seeds: int) -> bool:
        """Whether so many seeds of some cells end in time for a report; runs that are ended before
        save their state, for which a report may be late."""
        end = self.clock.total - self._ending()
        outcomes = self._outcomes(chosen, seeds)
        self.run(outcomes, lambda: self.clock.tick() > end)
        return next(outcomes.waiting(), None) is None

    def _is_in_time(self, seconds: float) -> bool:
        """Whether there is a report in time after so many seconds more."""
        return seconds + self._ending() < self.clock.left

    def _announce(self, outcomes: Outcomes) -> None:
        """Says what is scored, and that the minutes are too few, where they are."""
        chosen = self.progress.finalists
        self.say(f"scored: {', '.join(f'{name} (rate {rate:g})' for name, rate in chosen.items())}")
        left = Counter(run.cell.name for run in outcomes.waiting())
        ends = self.clock.used + self._pace().seconds(left) + self._ending()
        if ends > self.clock.total:
            self.say(
                f"the shortest honest comparison ({counted(self._fewest, self._seed)} of each) "
                f"takes about {_minutes(ends)} in all, more than the {self.comparison.minutes:g} "
                "that were given"
            )

    def _ticked(self) -> bool:
        self.clock.tick()
        return False

    @property
    def _seed(self) -> str:
        return "repeat" if self.comparison.folds else "seed"

    @property
    def _fewest(self) -> int:
        return fewest_seeds(self.comparison)

    def _outcomes(self, chosen: dict[str, float], seeds: int) -> Outcomes:
        outcomes = FoldOutcomes if self.comparison.folds else Outcomes
        return outcomes(of_finalists(self.comparison, chosen, seeds), self.out)

    def _pace(self) -> Pace:
        """By the rungs that have ended."""
        rungs, begun, found = self.progress.rungs, 0.0, []
        for rung, record in zip(
            screenings(self.comparison, self.out, self.available), rungs, strict=True
        ):
            if record.ended is not None:
                found.append((rung.measured(), record.ended - begun))
                begun = record.ended
        return pace_of(found, self.progress.processes, self.at_end * self.progress.load)

    def _runs_of(self, cells: Iterable[str], seeds: int) -> dict[str, int]:
        return dict.fromkeys(cells, seeds * max(1, self.comparison.folds))

    def _ending(self) -> float:
        """Seconds from the last run to the end; with folds one more training is exported."""
        pace = self._pace()
        if not self.comparison.folds:
            return pace.ending
        return pace.ending + max(pace.seconds({name: 1}) for name in self.progress.rungs[-1].rates)

    def _shortest(self, pace: Pace) -> float:
        """The seconds of the fewest seeds of the slowest finalists, and of the end."""
        names = sorted(self.progress.rungs[-1].rates, key=pace.of_run, reverse=True)
        runs = self._runs_of(names[:FEWEST_CELLS], self._fewest)
        return pace.seconds(runs) + self._ending()

    def _has_time(self, going: Rates, pace: Pace) -> bool:
        """Whether one more rung leaves time for the fewest seeds."""
        number = len(self.progress.rungs)
        rung = Screening(self.comparison, self.out, going, number, self.available)
        shares = {cell.name: rung.shares(cell) for cell in rung.comparison.cells}
        runs = {name: len(rates) for name, rates in going.items()}
        return pace.seconds(runs, shares) + self._shortest(pace) < self.clock.left


def screenings(comparison: Comparison, out: Path, available: int) -> list[Screening]:
    """The rungs that were begun."""
    rungs = read_progress(out).rungs
    return [
        Screening(comparison, out, rung.rates, number, available)
        for number, rung in enumerate(rungs)
    ]


def worked_seconds() -> float:
    """The seconds of a processor of the processes that this one has started, and that ended."""
    times = os.times()
    return times.children_user + times.children_system


def fewest_seeds(comparison: Comparison) -> int:
    """The seeds, or repeats, that the tests need; as many as there are, if these are fewer."""
    fewest = FEWEST_REPEATS if comparison.folds else FEWEST_SEEDS
    return min(fewest, len(comparison.seeds))


def groups_of(comparison: Comparison) -> dict[str, str]:
    """The group of each cell, by name."""
    cells = comparison.cells
    return {cell.name: group_of(cell.config.adaptation.name, cell.pretrained) for cell in cells}


def _minutes(seconds: float) -> str:
    return f"{seconds / 60:.1f} minutes"
