"""Runs a whole comparison: from a config and a folder to runs, tests, verdict, report, export."""

import shutil
from dataclasses import replace
from pathlib import Path

from tf_adapt.comparison.cell_results import SCORED_ON
from tf_adapt.comparison.execution.display import Display
from tf_adapt.comparison.execution.jobs import jobs_at_once, machine_in_words
from tf_adapt.comparison.execution.running import run_all
from tf_adapt.comparison.execution.runs import Outcomes, config_name
from tf_adapt.comparison.inputs import checked_splits, input_hashes
from tf_adapt.comparison.plan.cells import Comparison
from tf_adapt.comparison.plan.students import check_students
from tf_adapt.comparison.record import begin, is_begun, read_record, write_record
from tf_adapt.comparison.results import results
from tf_adapt.comparison.verdict.interim_analyses import analyses_at, check_analyses, read_analyses
from tf_adapt.comparison.verdict.verdict import verdict
from tf_adapt.comparison.winner_export import export_best
from tf_adapt.report.content import Content
from tf_adapt.report.write import write_report
from tf_adapt.runs.interruption import Interruption
from tf_adapt.runs.run_folder import locked


def compare(
    comparison: Comparison,
    out: str | Path,
    jobs: int | None = None,
    cache: str | Path | None = None,
    command: str = "",
    export_anyway: bool = False,
    final: bool = False,
) -> Content:
    """Trains all unfinished runs, tests, writes the report and returns its content.

    Each cell tries its learning rates with one extra seed, which is not scored, and selects the
    best on dev. With that rate all seeds are trained and scored on test (or dev, see
    `scored_split`). This is repeated for each number of training examples, see `sizes`; tests,
    verdict, report and export are of the largest.

    Args:
        out: the folder of the comparison; finished runs in it are kept. A later call may add
            cells, rates and seeds.
        jobs: parallel processes, by default as many as cores, cells and memory allow; scores do
            not depend on it.
        cache: folder for the features of frozen encoders; by default that of the config, else a
            temporary one inside `out`.
        command: the command line, for the report.
        export_anyway: exports even if no cell is shown to be above the baseline.
        final: one analysis at the whole level of 5 %, after which nothing may be added.

    Raises:
        ConfigError: the folder belongs to another comparison; as `known_sizes`,
            `checked_members`, `check_students` and `check_analyses`.
        DataError: the data are wrong, or have changed since the comparison was started.
        ArtifactError, TrainingError: a run failed.
        KeyboardInterrupt, SystemExit: after a signal, once the runs have saved their state.
    """
    out = Path(out).absolute()
    splits, data = checked_splits(comparison)
    inputs = input_hashes(comparison)
    kept = cache or comparison.cells[0].config.features.cache
    taught = [cell for cell in comparison.cells if cell.teacher is not None]
    # The config of a cell that was checked before is in the folder.
    check_students([cell for cell in taught if not (out / config_name(cell)).is_file()])
    with locked(out):
        outcomes, threads = Outcomes(comparison, out), comparison.threads
        past = read_analyses(read_record(out)["looks"]) if is_begun(out) else ()
        check_analyses(outcomes, past, final)
        record = begin(comparison, data, inputs, out)
        at_once = jobs or jobs_at_once(outcomes.unfinished_cells(), threads)
        with Interruption(), Display(SCORED_ON) as display:
            features = Path(kept or out / "features").absolute()
            run_all(outcomes, at_once, threads, features, display)
            display.say_once("tests, verdict, report, export")
            analyses = analyses_at(outcomes, past, final)
            machine = machine_in_words(threads)
            content = results(
                outcomes, splits, analyses, data=data, machine=machine, command=command
            )
            # Before the report is written, so that every interim analysis is counted.
            write_record(out, record | {"looks": analyses.to_record(content.pairs)})
            content = replace(content, verdict=verdict(content))
            try:
                exported = export_best(outcomes, content, export_anyway)
                content = replace(content, verdict=replace(content.verdict, exported=exported))
            finally:  # the report is written even if the export fails
                write_report(content, out)
        if kept is None:
            shutil.rmtree(out / "features", ignore_errors=True)
    return content
