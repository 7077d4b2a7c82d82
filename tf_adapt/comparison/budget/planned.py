"""What a budget allows, before anything is trained: `tf-adapt compare CONFIG --dry-run --minutes`.

Imports no TensorFlow.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tf_adapt.comparison.budget.budgeted import fewest_seeds
from tf_adapt.comparison.budget.costs import MeasuredRun, Pace
from tf_adapt.comparison.budget.halving import (
    FEWEST_CELLS,
    FEWEST_RATES,
    RUNGS,
    needs_rung,
    wanted,
)
from tf_adapt.comparison.budget.screening import Screening
from tf_adapt.comparison.plan.cells import Comparison
from tf_adapt.comparison.plan.expected_costs import CellCosts, costs_of_run
from tf_adapt.printing.words import counted


@dataclass(frozen=True)
class PlannedRung:
    """A rung: its cells, its runs, and seconds on the clock."""

    cells: int
    runs: int
    seconds: float


@dataclass(frozen=True)
class PlannedBudget:
    """What a budget allows, if the slowest cells go on.

    Attributes:
        rungs: those that there is time for; the first in any case.
        finalists: the number of cells that are scored at least.
        seeds: of each, or repeats; at least the fewest that are tested.
        asked: the number of the config.
        shortest: seconds of the shortest comparison: the first rung, the fewest seeds, the report.
        seconds: of all.
    """

    minutes: float
    rungs: list[PlannedRung]
    finalists: int
    seeds: int
    asked: int
    shortest: float
    seconds: float


def measured_runs(
    cells: list[CellCosts], train: int, examples: Mapping[str, int], starting: float
) -> list[MeasuredRun]:
    """Scored runs of the cells, as if they had been run; two share the start of a process.

    Args: as `expected_costs`.
    """
    found = []
    for cell in cells:
        training, evaluation, rest = costs_of_run(cell, train, examples)
        rest += (starting + cell.measured.tracing) / 2
        rest += cell.measured.features * sum(examples.values()) / 2
        total = training + evaluation + rest
        seconds = {"training": training, "evaluation": evaluation, "total": total}
        found.append(MeasuredRun(cell.name, 1.0, 1.0, seconds))
    return found


def planned_budget(comparison: Comparison, available: int, pace: Pace) -> PlannedBudget:
    """The plan of a comparison within minutes.

    Args:
        available: the number of training examples of a scored run.
        pace: by runs of `measured_runs`.
    """
    rates = {cell.name: cell.rates for cell in comparison.cells}
    slowest = sorted(rates, key=pace.of_run, reverse=True)
    count = min(FEWEST_CELLS, len(rates))
    a_seed = pace.seconds(dict.fromkeys(slowest[:count], max(1, comparison.folds)))
    ending = pace.ending + (pace.of_run(slowest[0]) if comparison.folds else 0.0)
    fewest, total = fewest_seeds(comparison), 60.0 * comparison.minutes
    scoring = fewest * a_seed + ending
    used, rungs = 0.0, []
    for number in range(len(RUNGS)):
        if rungs and not needs_rung(rates, wanted(len(comparison.cells))):
            break
        rung = _rung(comparison, rates, number, available, pace)
        if rungs and used + rung.seconds + scoring > total:
            break
        rungs.append(rung)
        used += rung.seconds
        going = slowest[: max(wanted(len(rates)), math.ceil(len(rates) / 2))]
        rates = {
            name: of_cell[: max(FEWEST_RATES, math.ceil(len(of_cell) / 2))]
            for name, of_cell in rates.items()
            if name in going
        }
        slowest = [name for name in slowest if name in rates]
    asked = len(comparison.seeds)
    more = int((total - used - scoring) // a_seed) if a_seed else asked
    seeds = max(fewest, min(asked, fewest + more))
    return PlannedBudget(
        minutes=comparison.minutes,
        rungs=rungs,
        finalists=count,
        seeds=seeds,
        asked=asked,
        shortest=rungs[0].seconds + scoring,
        seconds=used + seeds * a_seed + ending,
    )


def _rung(
    comparison: Comparison, rates: Mapping[str, Any], number: int, available: int, pace: Pace
) -> PlannedRung:
    rung = Screening(comparison, Path(), rates, number, available)
    shares = {cell.name: rung.shares(cell) for cell in rung.comparison.cells}
    runs = {name: len(of_cell) for name, of_cell in rates.items()}
    return PlannedRung(len(runs), sum(runs.values()), pace.seconds(runs, shares))


def budget_lines(plan: Mapping[str, Any], folds: int) -> list[str]:
    """The plan in words; says where the minutes are fewer than the shortest comparison takes."""
    seed = "repeat" if folds else "seed"
    lines = [
        f"rung {number}: screens {counted(rung['cells'], 'cell')} by {counted(rung['runs'], 'run')}"
        f" that are not scored, about {_minutes(rung['seconds'])}"
        for number, rung in enumerate(plan["rungs"], 1)
    ]
    lines.append(
        f"scores at least {counted(plan['finalists'], 'cell')} (❄'s best, 🔥's best, the best "
        f"other) with {plan['seeds']} of the {counted(plan['asked'], seed)} asked for: about "
        f"{_minutes(plan['seconds'])} of {plan['minutes']:g} in all on idle cores, if the slowest "
        "cells go on"
    )
    if plan["shortest"] > 60 * plan["minutes"]:
        lines.append(
            f"the shortest honest comparison takes about {_minutes(plan['shortest'])}, more than "
            f"the {plan['minutes']:g} that are given: its report comes then"
        )
    return lines


def _minutes(seconds: float) -> str:
    return f"{seconds / 60:.1f} minutes"
