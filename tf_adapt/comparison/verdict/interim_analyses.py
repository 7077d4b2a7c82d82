"""The interim analyses of a comparison and their decisions.

Seeds, cells and learning rates may be added to a comparison after its report is known. Each report
on a different set of runs is an interim analysis, with its own level
(`tf_adapt.statistics.alpha_spending`). A decision remains valid as long as the cells are the same
and the difference keeps its sign.
"""

from dataclasses import dataclass, field, replace
from typing import Any

from tf_adapt.comparison.execution.outcomes import Outcomes
from tf_adapt.errors import ConfigError
from tf_adapt.statistics.alpha_spending import FINAL, FINAL_LEVEL
from tf_adapt.statistics.relation import PairTest

# What tells runs apart beside learning rate and seeds, where there is such a thing.
_OTHERS = ("examples", "epochs", "trials")


@dataclass(frozen=True)
class InterimAnalysis:
    """An interim analysis: the runs of a report, and the pairs it decided.

    Attributes:
        runs: by cell, the learning rate, the seeds whose runs have ended, the number of training
            examples if not all, the epochs if they are not those of the config, and the chosen
            trials of a search.
        decided: (ahead, behind), names of cells.
        final: the only analysis; no other may follow.
    """

    runs: dict[str, dict[str, Any]]
    decided: tuple[tuple[str, str], ...] = ()
    final: bool = False


@dataclass(frozen=True)
class InterimAnalyses:
    """The interim analyses of a comparison.

    Attributes:
        past, later: those before and after the present one, in order of their first report.
    """

    past: tuple[InterimAnalysis, ...]
    present: InterimAnalysis = field(default_factory=lambda: InterimAnalysis({}))
    later: tuple[InterimAnalysis, ...] = ()

    @property
    def number(self) -> int:
        """The number of the present analysis, from 1, or `FINAL`."""
        return FINAL if self.present.final else len(self.past) + 1

    @property
    def standing(self) -> set[tuple[str, str]]:
        """Earlier decisions between cells with unchanged learning rate, number of training examples
        and epochs."""
        now = {name: _kind_of(runs) for name, runs in self.present.runs.items()}
        return {
            pair
            for analysis in self.past
            for pair in analysis.decided
            if all(_kind_of(analysis.runs[name]) == now.get(name) for name in pair)
        }

    def to_record(self, pairs: list[PairTest]) -> list[dict[str, Any]]:
        """Plain values for `read_analyses`, with the present decisions from the report's pairs.

        An analysis without any test (one seed, few items) is not kept.
        """
        decided = tuple(
            (pair.a, pair.b) if pair.difference > 0 else (pair.b, pair.a)
            for pair in pairs
            if pair.decided
        )
        tested = any(pair.p_holm is not None for pair in pairs)
        present = [replace(self.present, decided=decided)] if tested else []
        return [
            {
                "runs": analysis.runs,
                "decided": [list(pair) for pair in analysis.decided],
                "final": analysis.final,
            }
            for analysis in (*self.past, *present, *self.later)
        ]


def read_analyses(record: list[dict[str, Any]]) -> tuple[InterimAnalysis, ...]:
    """The interim analyses of a record that `to_record` wrote.

    Raises:
        ValueError, TypeError, KeyError: the record is not of this form.
    """
    return tuple(
        InterimAnalysis(
            {
                name: _of(runs["rate"], runs["seeds"], *map(runs.get, _OTHERS))
                for name, runs in dict(analysis["runs"]).items()
            },
            tuple((str(ahead), str(behind)) for ahead, behind in analysis["decided"]),
            analysis["final"],
        )
        for analysis in record
    )


def analyses_at(
    outcomes: Outcomes, past: tuple[InterimAnalysis, ...], final: bool = False
) -> InterimAnalyses:
    """The past and the present analysis; a report on the same runs is the same analysis."""
    runs = {cell.name: _runs(outcomes, cell) for cell in outcomes.comparison.cells}
    for number, analysis in enumerate(past):
        if analysis.runs == runs:
            return InterimAnalyses(
                past[:number], InterimAnalysis(runs, final=analysis.final), past[number + 1 :]
            )
    return InterimAnalyses(past, InterimAnalysis(runs, final=final))


def check_analyses(outcomes: Outcomes, past: tuple[InterimAnalysis, ...], final: bool) -> None:
    """Checks, before anything is trained, that one more interim analysis is allowed.

    Raises:
        ConfigError: the only analysis was done, or is asked for after others.
    """
    before = sum(not analysis.final for analysis in past)
    if final and before:
        raise ConfigError(
            f"--final: expected a comparison without a report, whose one analysis has the whole "
            f"level of {100 * FINAL_LEVEL:g} %, got {outcomes.out} with {before}; leave --final "
            "out, or choose another --out"
        )
    same = analyses_at(outcomes, past).number == FINAL and not outcomes.unfinished_cells()
    if len(past) > before and not same:
        raise ConfigError(
            f"{outcomes.out}: this comparison was ended by --final, which leaves no level for "
            "further seeds, cells or rates; choose another --out"
        )


def _runs(outcomes: Outcomes, cell) -> dict[str, Any]:
    over = [run.seed for run in outcomes.final_runs(cell) if outcomes.is_over(run)]
    trials = [setting.number for setting in outcomes.chosen_settings(cell)]
    rates = outcomes.chosen_rates(cell)
    return _of(rates, over, outcomes.examples, cell.more_epochs, trials or None)


def _of(
    rate: float | list[float] | None,
    seeds: list[int],
    examples: int | None,
    epochs: int | None,
    trials: list[int] | None,
) -> dict[str, Any]:
    others = zip(_OTHERS, (examples, epochs, trials), strict=True)
    known = {name: value for name, value in others if value is not None}
    return {"rate": rate, "seeds": list(seeds), **known}


def _kind_of(runs: dict[str, Any]) -> tuple:
    return str(runs["rate"]), *(str(runs.get(name)) for name in _OTHERS)
