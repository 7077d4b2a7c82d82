"""`python -m benchmarks.verdict_errors [CASE …]`: how often a verdict misleads."""

import importlib
import json
import sys
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Any

import click
from rich.console import Console
from rich.progress import Progress

from benchmarks.verdict_errors.page import section, summary, with_summary
from benchmarks.verdict_errors.simulating import above_goal, simulated_row
from hub_modules.storage.files import write_text
from tf_adapt.version import __version__

# Name → module of `cases`.
CASES = (
    "single",
    "choosing",
    "extending",
    "looks",
    "failing",
    "bad-seeds",
    "groups",
    "together",
    "alike",
    "cheaper",
    "baseline",
    "seeds-needed",
    "power",
    "folds",
    "choosing-in-folds",
    "shift",
    "budget",
)
DOCS = Path(__file__).parents[2] / "docs"
NUMBERS, PAGE = "verdict_errors.json", "verdict.md"


@click.command()
@click.argument("names", nargs=-1, type=click.Choice(CASES), metavar="[CASE]…")
@click.option(
    "--comparisons", default=10_000, show_default=True, type=click.IntRange(1), help="Of each row."
)
@click.option("--show", is_flag=True, help="Print what was simulated before; nothing is run.")
@click.option(
    "--out",
    default=DOCS,
    type=click.Path(file_okay=False, path_type=Path),
    help=f"The folder of {NUMBERS}, and of the page with the summary [docs].",
)
def main(names: tuple[str, ...], comparisons: int, show: bool, out: Path) -> None:
    """Simulates the named cases (all of them without a name); writes numbers and their summary.

    What was simulated before under other names stays. Cases: see CASES in
    benchmarks/verdict_errors/__main__.py.
    """
    if show:
        for name, result in recorded(out).items():
            if name in (names or CASES):
                click.echo("\n" + section(name, module_of(name), result))
        return
    for name in names or CASES:
        result = run(name, comparisons)
        click.echo("\n" + section(name, module_of(name), result))
        write(out, name, result)
        for line in above_goal(module_of(name), result["rows"]):
            click.echo(f"{name}: above the goal: {line}", err=True)


def module_of(name: str) -> ModuleType:
    """The module of a case."""
    return importlib.import_module(f"benchmarks.verdict_errors.cases.{name.replace('-', '_')}")


def run(name: str, comparisons: int) -> dict[str, Any]:
    """A case as plain values."""
    case = module_of(name)
    with Progress(console=Console(file=sys.stderr), transient=True) as progress:
        task = progress.add_task(name, total=comparisons * len(case.ROWS))
        rows = [
            simulated_row(name, case, row, comparisons, lambda: progress.advance(task))
            for row in case.ROWS
        ]
    return {
        "version": __version__,
        "numpy": version("numpy"),
        "scipy": version("scipy"),
        "rows": rows,
    }


def recorded(out: Path) -> dict[str, Any]:
    """What was simulated before, by case."""
    path = out / NUMBERS
    return json.loads(path.read_text("utf-8")) if path.exists() else {}


def write(out: Path, name: str, result: dict[str, Any]) -> None:
    """Puts the result beside those of other cases, and their summary into the page."""
    text = json.dumps(recorded(out) | {name: result}, indent=1, ensure_ascii=False)
    write_text(out / NUMBERS, text + "\n")
    page = out / PAGE
    if page.exists():
        # As it is read again, so that the page is the same.
        table = summary(recorded(out), {case: module_of(case) for case in CASES})
        write_text(page, with_summary(page.read_text("utf-8"), table))


if __name__ == "__main__":
    main()
