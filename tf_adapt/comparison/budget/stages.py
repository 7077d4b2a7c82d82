"""What is done before cells are scored, and what of it is told: extensions, or a screening.

Imports no TensorFlow.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from tf_adapt.comparison.budget.budgeted import Budgeted, Run
from tf_adapt.comparison.budget.clock import Clock
from tf_adapt.comparison.budget.costs import ending_of
from tf_adapt.comparison.budget.halving import wanted
from tf_adapt.comparison.budget.results import screened
from tf_adapt.comparison.diagnosis.diagnosing import kept_diagnosis
from tf_adapt.comparison.extending import extend
from tf_adapt.comparison.kept.estimate import kept_estimate
from tf_adapt.comparison.plan.cells import Comparison
from tf_adapt.comparison.plan.sizes import known_sizes
from tf_adapt.comparison.verdict.interim_analyses import InterimAnalysis
from tf_adapt.data.splits.read_splits import Splits
from tf_adapt.report.content import Content


def before_scoring(
    comparison: Comparison,
    splits: Splits,
    out: Path,
    run: Run,
    say: Callable[[str], None],
    clock: Clock | None,
    past: Sequence[InterimAnalysis],
) -> None:
    """Decides which cells are scored, with what, and writes it into the record.

    Within minutes the finalists are scored, too; nothing is added after a final analysis.

    Args:
        run: trains all unfinished runs.
        say: prints a sentence.
        clock: of the minutes; None: it begins now.
    """
    if comparison.minutes is None:
        extend(comparison, splits, out, run, say)
    elif not any(analysis.final for analysis in past):
        clock = clock or Clock(comparison.minutes)
        available = _available(comparison, splits)
        at_end = ending_of(splits.examples, wanted(len(comparison.cells)))
        Budgeted(comparison, out, available, at_end, clock, run, say).train()


def with_findings(content: Content, comparison: Comparison, splits: Splits, out: Path) -> Content:
    """The content with what was screened, and the diagnosis and estimate that the folder has."""
    found = screened(comparison, out, _available(comparison, splits))
    of_folder = {"diagnosis": kept_diagnosis(content, out), "estimate": kept_estimate(out)}
    return replace(content, budget=found, **of_folder)


def _available(comparison: Comparison, splits: Splits) -> int:
    return known_sizes(comparison.sizes, len(splits.examples["train"]))[-1]
