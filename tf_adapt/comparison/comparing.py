"""Runs a whole comparison: from a config and a folder to runs, tests, verdict, report, export."""

import shutil
from dataclasses import replace
from pathlib import Path

from tf_adapt.comparison.budget.stages import Clock, before_scoring, with_findings
from tf_adapt.comparison.cell_results import SCORED_ON
from tf_adapt.comparison.execution.display import Display
from tf_adapt.comparison.execution.executors import (
    Resources,
    check_resources,
    executor_for,
    machine_in_words,
)
from tf_adapt.comparison.execution.outcomes import Outcomes
from tf_adapt.comparison.execution.running import Until, run_all
from tf_adapt.comparison.extending import outcomes_of
from tf_adapt.comparison.inputs import check_new_students, checked_splits, input_hashes
from tf_adapt.comparison.plan.cells import Comparison
from tf_adapt.comparison.record import as_begun, begin, is_begun, read_record, write_record
from tf_adapt.comparison.results import results
from tf_adapt.comparison.verdict.interim_analyses import (
    InterimAnalyses,
    analyses_at,
    check_analyses,
    read_analyses,
)
from tf_adapt.comparison.verdict.verdict import verdict
from tf_adapt.comparison.written_report import reported
from tf_adapt.report.content import Content
from tf_adapt.runs.interruption import Interruption
from tf_adapt.runs.run_folder import locked


def compare(
    comparison: Comparison,
    out: str | Path,
    resources: Resources | None = None,
    cache: str | Path | None = None,
    command: str = "",
    export_anyway: bool = False,
    final: bool = False,
    clock: Clock | None = None,
) -> Content:
    """Trains all unfinished runs, tests, writes the report and returns its content.

    Each cell tries its learning rates, or the settings of a search, with one extra seed, which is
    not scored, and selects the best on dev. With that all seeds are trained and scored on test (or
    dev, see `scored_split`). This is repeated for each number of training examples, see `sizes`;
    tests, verdict, report and export are of the largest. What is not trained to the end is trained
    further before, see `extending`.

    Args:
        out: the folder of the comparison; finished runs in it are kept. A later call may add
            cells, rates and seeds.
        resources: where runs are executed; by default in as many processes of this machine as
            cores, cells, memory and GPUs allow. Scores do not depend on it.
        cache: folder for the features of frozen encoders; by default that of the config, else a
            temporary one inside `out`.
        command: the command line, for the report.
        export_anyway: exports even if no cell is shown to be above the baseline.
        final: one analysis at the whole level of 5 %, after which nothing may be added.
        clock: of a comparison within minutes; by default it begins now.

    Raises:
        ConfigError: the folder belongs to another comparison; as `known_sizes`,
            `checked_members`, `check_resources`, `check_new_students` and `check_analyses`.
        DataError: the data are wrong, or have changed since the comparison was started.
        ArtifactError, TrainingError: a run failed.
        KeyboardInterrupt, SystemExit: after a signal, once the runs have saved their state.
    """
    out = Path(out).absolute()
    comparison, splits, data = checked_splits(comparison)
    inputs = input_hashes(comparison)
    kept = cache or comparison.cells[0].config.features.cache
    resources = resources or Resources()
    check_resources(resources, len(comparison.cells), comparison.threads, comparison.devices)
    check_new_students(comparison, out)
    with locked(out):
        comparison = as_begun(comparison, out)
        past = ()
        if is_begun(out):
            past = read_analyses(read_record(out)["looks"])
            check_analyses(outcomes_of(comparison, out), past, final)
        begin(comparison, data, inputs, out)
        with Interruption(), Display(SCORED_ON) as display:
            features = Path(kept or out / "features").absolute()

            def run(outcomes: Outcomes, until: Until | None = None) -> int:
                unfinished, threads = outcomes.unfinished_cells(), comparison.threads
                executor = executor_for(
                    resources, unfinished, threads, comparison.devices, features
                )
                if comparison.minutes is not None:  # by parts, of other numbers of runs
                    display.begin()
                processes = executor.room
                run_all(outcomes, executor, display, until)
                return processes

            before_scoring(comparison, splits, out, run, display.say_once, clock, past)
            outcomes = outcomes_of(comparison, out)
            run(outcomes)
            display.say_once("tests, verdict, report, export")
            analyses = analyses_at(outcomes, past, final)
            machine = machine_in_words(comparison.threads)
            content, answers = results(
                outcomes, splits, analyses, data=data, machine=machine, command=command
            )
            content = with_findings(content, comparison, splits, out)
            content = _judged(outcomes, content, analyses)
            content = reported(outcomes, splits, content, answers, export_anyway, run)
        if kept is None:
            shutil.rmtree(out / "features", ignore_errors=True)
    return content


def _judged(outcomes: Outcomes, content: Content, analyses: InterimAnalyses) -> Content:
    """The content with its verdict; before any report every interim analysis is counted."""
    out = outcomes.out
    write_record(out, read_record(out) | {"looks": analyses.to_record(content.pairs)})
    return replace(content, verdict=verdict(content))
