"""The looks at a comparison and their decisions.

Seeds, cells and learning rates may be added to a comparison after its report is known. Each report
on a different set of runs is an interim analysis, with its own level
(`tf_adapt.statistics.alpha_spending`). A decision remains valid as long as the cells are the same
and the difference keeps its sign.
"""

from dataclasses import dataclass, field, replace
from typing import Any

from tf_adapt.comparison.execution.runs import Outcomes
from tf_adapt.statistics.relation import PairTest


@dataclass(frozen=True)
class Look:
    """A report: the runs it is based on, and the pairs it decided.

    Attributes:
        runs: by cell, the learning rate, the seeds whose runs have ended, and the number of
            training examples if not all.
        decided: (ahead, behind), names of cells.
    """

    runs: dict[str, dict[str, Any]]
    decided: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Looks:
    """The looks at a comparison.

    Attributes:
        past, later: the looks before and after the present one, in order of their first report.
    """

    past: tuple[Look, ...]
    present: Look = field(default_factory=lambda: Look({}))
    later: tuple[Look, ...] = ()

    @property
    def number(self) -> int:
        """The number of the present look, from 1."""
        return len(self.past) + 1

    @property
    def standing(self) -> set[tuple[str, str]]:
        """Earlier decisions between cells with unchanged learning rate and number of training
        examples."""
        now = {name: _kind_of(runs) for name, runs in self.present.runs.items()}
        return {
            pair
            for look in self.past
            for pair in look.decided
            if all(_kind_of(look.runs[name]) == now.get(name) for name in pair)
        }

    def to_record(self, pairs: list[PairTest]) -> list[dict[str, Any]]:
        """Plain values for `read_looks`, with the present look's decisions from the report's pairs.

        A look without any test (one seed, few items) is not kept.
        """
        decided = tuple(
            (pair.a, pair.b) if pair.difference > 0 else (pair.b, pair.a)
            for pair in pairs
            if pair.decided
        )
        tested = any(pair.p_holm is not None for pair in pairs)
        present = [replace(self.present, decided=decided)] if tested else []
        return [
            {"runs": look.runs, "decided": [list(pair) for pair in look.decided]}
            for look in (*self.past, *present, *self.later)
        ]


def read_looks(record: list[dict[str, Any]]) -> tuple[Look, ...]:
    """The looks of a record that `to_record` wrote.

    Raises:
        ValueError, TypeError, KeyError: the record is not of this form.
    """
    return tuple(
        Look(
            {
                name: _of(runs["rate"], runs["seeds"], runs.get("examples"))
                for name, runs in dict(look["runs"]).items()
            },
            tuple((str(ahead), str(behind)) for ahead, behind in look["decided"]),
        )
        for look in record
    )


def looks_at(outcomes: Outcomes, past: tuple[Look, ...]) -> Looks:
    """The past looks and the present one; a report on the same runs is the same look."""
    present = Look({cell.name: _runs(outcomes, cell) for cell in outcomes.comparison.cells})
    for number, look in enumerate(past):
        if look.runs == present.runs:
            return Looks(past[:number], present, past[number + 1 :])
    return Looks(past, present)


def _runs(outcomes: Outcomes, cell) -> dict[str, Any]:
    over = [run.seed for run in outcomes.final_runs(cell) if outcomes.is_over(run)]
    return _of(outcomes.chosen_rate(cell), over, outcomes.examples)


def _of(rate: float | None, seeds: list[int], examples: int | None) -> dict[str, Any]:
    part = {} if examples is None else {"examples": examples}
    return {"rate": rate, "seeds": list(seeds), **part}


def _kind_of(runs: dict[str, Any]) -> tuple:
    return runs["rate"], runs.get("examples")
