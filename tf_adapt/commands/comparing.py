"""The commands on whether to tune: by experiment (`compare`), why (`diagnose`), or from the paper
(`advise`)."""

import sys

import click

from tf_adapt.commands.console import (
    PATH,
    check_out,
    json_option,
    print_result,
    quiet_option,
    set_option,
    start_tensorflow,
)
from tf_adapt.paper import FAMILIES
from tf_adapt.tasks.kinds import labelled_kinds

# The exit code of `compare --strict` where the tests decide nothing.
UNDECIDED = 6


@click.command()
@click.argument("config", type=PATH)
@click.option("--out", type=PATH, metavar="DIR", help="What is finished in it is kept.")
@click.option("--seeds", type=click.IntRange(min=1), help="Overrides compare.seeds.")
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    help="Runs at a time; by default as many as cores, cells, free memory (3 GB each) and GPUs "
    "allow. Scores do not depend on it.",
)
@click.option(
    "--gpus-per-run",
    type=float,
    help="By default as many as training.devices, else 1 (of Slurm none); 0.5 lets two runs share "
    "one.",
)
@click.option(
    "--slurm",
    metavar="KEY=VALUE,…",
    help="Runs are jobs of a Slurm cluster, with these options of sbatch, such as "
    "partition=gpu,time=120 (minutes); DIR is on a shared file system.",
)
@click.option(
    "--minutes",
    type=float,
    help="A budget: cells are screened by seeds that are not scored, and dropped; at least ❄'s "
    "best, 🔥's best and the best other are scored and tested.",
)
@click.option(
    "--cluster",
    metavar="auto|ADDRESS",
    help="Runs are tasks of a Ray cluster, with DIR on a shared file system; auto: the running "
    "one, else one on this machine.",
)
@click.option(
    "--cpus-per-run",
    type=click.FloatRange(min=0, min_open=True),
    help="Cores of a node of the cluster for each run, by default its threads.",
)
@click.option(
    "--cache", type=PATH, metavar="DIR", help="Keeps the features of frozen encoders for others."
)
@click.option(
    "--export-anyway", is_flag=True, help="Export even where no cell is above the baseline."
)
@click.option(
    "--final",
    is_flag=True,
    help="One analysis at the whole level of 5 %; nothing may be added to the comparison after it.",
)
@click.option(
    "--strict", is_flag=True, help=f"Exit with code {UNDECIDED} where nothing is decided."
)
@click.option(
    "--dry-run", is_flag=True, help="Show cells and runs, and find what cannot work; no training."
)
@set_option
@json_option
@quiet_option
def compare(
    config: str,
    out: str | None,
    seeds: int | None,
    jobs: int | None,
    gpus_per_run: float | None,
    slurm: str | None,
    minutes: float | None,
    cluster: str | None,
    cpus_per_run: float | None,
    cache: str | None,
    export_anyway: bool,
    final: bool,
    strict: bool,
    dry_run: bool,
    overrides: tuple[str, ...],
    as_json: bool,
) -> int:
    """To tune or not to tune: runs every cell of CONFIG, tests, and says which to use.

    The report is DIR/report.html.
    """
    import shlex

    from tf_adapt.comparison.execution.executors import Resources, check_resources
    from tf_adapt.comparison.plan.settings import load_comparison

    check_out(out, dry_run)
    comparison = load_comparison(config, overrides, seeds)
    options = _options("--slurm", slurm)
    if minutes is not None:
        comparison = _within(minutes, comparison, options, cluster)
    resources = Resources(jobs, gpus_per_run, options, cluster, cpus_per_run)
    if dry_run:
        check_resources(resources, len(comparison.cells), comparison.threads, comparison.devices)
        start_tensorflow()
        _show_cells(comparison, jobs, as_json)
        return 0
    from hub_modules.storage.machine import process_seconds
    from tf_adapt.comparison.budget.clock import Clock
    from tf_adapt.comparison.comparing import compare as compare_cells
    from tf_adapt.report.content import to_json
    from tf_adapt.report.lines import comparison_lines

    command = shlex.join(["tf-adapt", *sys.argv[1:]])
    clock = None if minutes is None else Clock(minutes, process_seconds())
    content = compare_cells(comparison, out, resources, cache, command, export_anyway, final, clock)
    print_result(to_json(content), comparison_lines(content, out), as_json)
    return UNDECIDED if strict and not content.verdict.decided else 0


def _within(minutes: float, comparison, slurm, cluster):
    """The comparison with a budget, where it can have one."""
    from dataclasses import replace

    from tf_adapt.comparison.budget.checks import check_budget, check_minutes

    check_minutes("--minutes", minutes)
    check_budget("--minutes", comparison, slurm, cluster)
    return replace(comparison, minutes=minutes)


def _options(name: str, text: str | None) -> dict[str, str | int] | None:
    """`a=b,c=1` as a dict, whole numbers as such; None of None.

    Raises:
        ConfigError: the text has another form.
    """
    from tf_adapt.errors import ConfigError

    if text is None:
        return None
    options: dict[str, str | int] = {}
    for part in filter(None, text.split(",")):
        key, equals, value = (one.strip() for one in part.partition("="))
        if not (key and equals and value):
            raise ConfigError(
                f"{name}: expected KEY=VALUE,…, got {part!r} in {text!r}; values with commas, such "
                "as lists of nodes, are for ta.compare(slurm={…})"
            )
        if key in options:
            raise ConfigError(f"{name}: {key}: expected it once, got it twice in {text!r}")
        # Names such as 00123 stay texts.
        is_number = value.isdecimal() and value == str(int(value))
        options[key] = int(value) if is_number else value
    return options


def _show_cells(comparison, jobs: int | None, as_json: bool) -> None:
    from rich.console import Console

    from tf_adapt.comparison.plan.dry_run import dry_run
    from tf_adapt.comparison.plan_in_words import cells_table, lines

    plan = dry_run(comparison, jobs)
    if not as_json:
        table = cells_table(plan)
        # The full width of the table, even on a narrower terminal.
        Console(width=Console(width=1000).measure(table).maximum).print(table)
    print_result(plan, lines(plan), as_json)


@click.command()
@click.argument("folder", type=PATH)
@json_option
@quiet_option
def diagnose(folder: str, as_json: bool) -> None:
    """Says why a run, or each cell of a comparison, in FOLDER is no better: a cause is named where
    a run without it, the counter-run, is.

    A comparison's report then shows it. Counter-runs stay in FOLDER/diagnosis.
    """
    from dataclasses import asdict

    from tf_adapt.comparison.diagnosis.diagnosing import diagnose as check_causes
    from tf_adapt.report.diagnosis.section import diagnosis_lines

    found = check_causes(folder)
    lines = [
        line
        for one in found
        for line in diagnosis_lines(one, "" if one.cell is None else f"{one.cell}: ")
    ]
    seconds = sum(one.seconds for one in found)
    lines += ["", f"counter-runs: {seconds:.0f} seconds, in {folder}/diagnosis"] if seconds else []
    print_result({"diagnosis": [asdict(one) for one in found]}, lines, as_json)


@click.command()
@click.option("--data", "file", type=PATH, metavar="FILE", help="In place of a kind: data of it.")
@click.option("--encoder", "family", type=click.Choice(FAMILIES), help="With --data optional.")
@click.option(
    "--task", "kind", type=click.Choice(labelled_kinds()), help="With --data by default guessed."
)
@json_option
def advise(file: str | None, family: str | None, kind: str | None, as_json: bool) -> None:
    """Shows what the paper advises for an encoder and a task, why, and what it does not know; with
    --data FILE what the published comparisons nearest to these data found, too."""
    if file is not None:
        from tf_adapt.comparison.advice import nearest

        found = nearest.advice(file, kind, family)
        print_result(found.to_json(), nearest.lines(found), as_json)
        return
    for option, value in (("--encoder", family), ("--task", kind)):
        if value is None:
            raise click.UsageError(f"Missing option '{option}' (or '--data').")
    from tf_adapt.comparison.advice.guideline import guideline, lines

    advice = guideline(family, kind)
    print_result(advice.to_json(), lines(advice), as_json)
