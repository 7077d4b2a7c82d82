"""The progress of a comparison: a live table of scores, and the remaining time."""

import re
import time
from itertools import product

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from tf_adapt.comparison.execution.outcomes import Outcomes
from tf_adapt.comparison.execution.runs import CellRun
from tf_adapt.comparison.plan.cells import Cell
from tf_adapt.printing import words
from tf_adapt.printing.progress import progress_console
from tf_adapt.statistics.scores import summary

REFRESH_SECONDS = 1.0
_STEP = re.compile(r"step (\d+) of (\d+)")


class Display:
    """A live table on a terminal; elsewhere one line for each finished run.

    Args:
        split: the scored split.
        console: by default stderr.
    """

    def __init__(self, split: str, console: Console | None = None):
        self.split = split
        self.console = console or progress_console()
        self.live = Live(console=self.console, auto_refresh=False, transient=True)
        self.started, self.shown, self.over_before = time.monotonic(), 0.0, None
        self.said: set[str] = set()

    def __enter__(self) -> "Display":
        if self.console.is_terminal:
            self.live.start()
        return self

    def __exit__(self, *error) -> None:
        self.live.stop()

    def update(self, outcomes: Outcomes, running: list[CellRun]) -> None:
        """Redraws the table, at most once a second."""
        if self.over_before is None:
            self.over_before, total = outcomes.counts()
            if self.over_before < total:
                there = f"{self.over_before} of {total} runs are there already"
                self._say(there if self.over_before else f"{words.counted(total, 'run')} to do")
        now = time.monotonic()
        if self.console.is_terminal and now - self.shown >= REFRESH_SECONDS:
            self.shown = now
            self.live.update(
                Group(table(outcomes, self.split, running), Text(self._line(outcomes))),
                refresh=True,
            )

    def finished(self, outcomes: Outcomes, run: CellRun) -> None:
        """Prints the score of a finished run."""
        if outcomes.is_start(run):
            self._say(f"{run.cell.name}: trained ({self._line(outcomes)})")
            return
        score = outcomes.score(run, self.split)
        shown = "diverged" if outcomes.failed(run) else "undefined"
        shown = shown if score is None else words.score(score)
        if run.fold is not None and run.fold.leave_out is None:
            self._say(f"{run.cell.name}: trained on all examples, for the export")
            return
        line = f"{_name(run.cell, run.examples)}, {_choice(run)}, {_seed(run)}"
        line += f": {self.split} {shown}"
        self._say(f"{line} ({self._line(outcomes)})")

    def begin(self) -> None:
        """Counts the runs from here on."""
        self.started, self.over_before = time.monotonic(), None

    def say_once(self, text: str) -> None:
        """Prints a message once."""
        if text not in self.said:
            self.said.add(text)
            self._say(text)

    def _say(self, text: str) -> None:
        self.console.print(text, markup=False, highlight=False, soft_wrap=True)

    def _line(self, outcomes: Outcomes) -> str:
        over, total = outcomes.counts()
        done = over - (self.over_before or 0)
        line = f"{over} of {total} runs"
        if not done or over == total:
            return line
        left = (time.monotonic() - self.started) / done * (total - over)
        return f"{line}, about {_duration(left)} left"


def table(outcomes: Outcomes, split: str, running: list[CellRun]) -> Table:
    """A row for each cell and number of training examples, a column for each seed.

    Running runs show their progress.
    """
    seeds = outcomes.comparison.seeds
    shown = Table(title=f"scores on {split}, × 100")
    shown.add_column("cell", overflow="fold")
    shown.add_column("rate", justify="right")
    for seed in seeds:
        name = "repeat" if outcomes.comparison.folds else "seed"
        shown.add_column(f"{name} {seed}", justify="right")
    shown.add_column("mean ± deviation", justify="right")
    for cell, of_size in product(outcomes.comparison.cells, outcomes.of_sizes()):
        shown.add_row(*_row(of_size, cell, split, running))
    return shown


def _row(outcomes: Outcomes, cell: Cell, split: str, running: list[CellRun]) -> list[str]:
    rate, final = outcomes.chosen_rate(cell), outcomes.final_runs(cell)
    entries = [_entry(outcomes, run, split, running) for run in final]
    if rate is None:
        trials = outcomes.trials(cell)
        trial_folders = {run.folder for run in trials}
        under_way = [_progress(run) for run in running if run.folder in trial_folders]
        over = sum(map(outcomes.is_over, trials))
        tried = "rates" if cell.search is None else "trials"
        entries = [under_way[0] if under_way else f"{over}/{outcomes.trials_count(cell)} {tried}"]
    entries += [""] * (len(outcomes.comparison.seeds) - len(entries))
    scores = [outcomes.score(run, split) for run in final]
    known = [score for score in scores if score is not None]
    result = summary(known) if known else None
    mean = words.mean_and_deviation(result.mean, result.deviation) if result else ""
    name = _name(cell, outcomes.examples)
    return [name, "" if rate is None else f"{rate:g}", *entries, mean]


def _choice(run: CellRun) -> str:
    return f"rate {run.rate:g}" if run.setting is None else run.setting.in_words


def _seed(run: CellRun) -> str:
    if run.fold is None:
        return f"seed {run.seed}"
    return f"repeat {run.fold.seed}, fold {run.fold.leave_out}"


def _name(cell: Cell, examples: int | None) -> str:
    return cell.name if examples is None else f"{cell.name}, {words.counted(examples, 'example')}"


def _entry(outcomes: Outcomes, run: CellRun, split: str, running: list[CellRun]) -> str:
    if outcomes.failed(run):
        return "diverged"
    score = outcomes.score(run, split)
    if score is not None:
        return words.score(score)
    if run.folds:
        return f"{sum(map(outcomes.is_over, run.folds))}/{len(run.folds)} folds"
    return _progress(run) if run.folder in {other.folder for other in running} else ""


def _progress(run: CellRun) -> str:
    """The progress of a run in percent, from the last lines of its log."""
    try:
        tail = run.log.read_bytes()[-2000:].decode("utf-8", "replace")
    except OSError:
        return "…"
    steps = _STEP.findall(tail)
    if not steps:
        return "…"
    done, total = map(int, steps[-1])
    return f"{100 * done // total} %"


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = seconds / 60
    return f"{minutes:.0f} min" if minutes < 90 else f"{minutes / 60:.1f} h"
