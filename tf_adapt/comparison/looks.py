"""The looks that were taken at a comparison, and what each of them decided.

More seeds, cells and learning rates may be asked of a comparison once its report is known. Each
report on other runs is a look, with a level of its own (`tf_adapt.statistics.looks`); what a look
has decided stands, as long as the cells are the same and the difference keeps its sign.
"""

from dataclasses import dataclass, field, replace
from typing import Any

from tf_adapt.comparison.runs import Outcomes


@dataclass(frozen=True)
class Look:
    """A report: the runs that it rests on, and the pairs that it decided.

    Attributes:
        runs: by cell, the learning rate and the seeds whose runs are over.
        decided: (ahead, behind), names of cells.
    """

    runs: dict[str, dict[str, Any]]
    decided: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Looks:
    """The looks at a comparison.

    Attributes:
        past, later: those before and after it, in the order in which their runs were asked for.
    """

    past: tuple[Look, ...]
    present: Look = field(default_factory=lambda: Look({}))
    later: tuple[Look, ...] = ()

    @property
    def number(self) -> int:
        """Of the present look, from 1."""
        return len(self.past) + 1

    @property
    def standing(self) -> set[tuple[str, str]]:
        """What earlier looks have decided between cells whose learning rate is still the same."""
        rates = {name: runs["rate"] for name, runs in self.present.runs.items()}
        return {
            pair
            for look in self.past
            for pair in look.decided
            if all(look.runs[name]["rate"] == rates.get(name) for name in pair)
        }

    def to_record(self, pairs: list[dict]) -> list[dict[str, Any]]:
        """Plain values for `read_looks`, with what the present look decides by the report's pairs.

        A look at which no two cells could be tested (one seed, few items) is not kept.
        """
        decided = tuple(
            (pair["a"], pair["b"]) if pair["difference"] > 0 else (pair["b"], pair["a"])
            for pair in pairs
            if pair["decided"]
        )
        tested = any(pair["p_holm"] is not None for pair in pairs)
        present = [replace(self.present, decided=decided)] if tested else []
        return [
            {"runs": look.runs, "decided": [list(pair) for pair in look.decided]}
            for look in (*self.past, *present, *self.later)
        ]


def read_looks(record: list[dict[str, Any]]) -> tuple[Look, ...]:
    """What `to_record` wrote.

    Raises:
        ValueError, TypeError, KeyError: the record is not of this form.
    """
    return tuple(
        Look(
            {
                name: {"rate": runs["rate"], "seeds": list(runs["seeds"])}
                for name, runs in dict(look["runs"]).items()
            },
            tuple((str(ahead), str(behind)) for ahead, behind in look["decided"]),
        )
        for look in record
    )


def looks_at(outcomes: Outcomes, past: tuple[Look, ...]) -> Looks:
    """The looks that were taken and the present one; the same runs again are the same look."""
    present = Look({cell.name: _runs(outcomes, cell) for cell in outcomes.comparison.cells})
    for number, look in enumerate(past):
        if look.runs == present.runs:
            return Looks(past[:number], present, past[number + 1 :])
    return Looks(past, present)


def _runs(outcomes: Outcomes, cell) -> dict[str, Any]:
    over = [run.seed for run in outcomes.final_runs(cell) if outcomes.is_over(run)]
    return {"rate": outcomes.chosen_rate(cell), "seeds": over}
