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

from benchmarks.verdict_errors.page import page, section
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
)
OUT = Path(__file__).parents[2] / "docs" / "verdict_errors.md"


@click.command()
@click.argument("names", nargs=-1, type=click.Choice(CASES), metavar="[CASE]…")
@click.option(
    "--comparisons", default=10_000, show_default=True, type=click.IntRange(1), help="Of each row."
)
@click.option(
    "--out",
    default=OUT,
    type=click.Path(dir_okay=False, path_type=Path),
    help="The page; its numbers go beside it, as JSON [docs/verdict_errors.md].",
)
def main(names: tuple[str, ...], comparisons: int, out: Path) -> None:
    """Simulates the named cases (all of them without a name) and writes the page.

    What was simulated before under other names stays in the page. Cases: see CASES in
    benchmarks/verdict_errors/__main__.py.
    """
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


def write(out: Path, name: str, result: dict[str, Any]) -> None:
    """Puts the result beside those of other cases, and writes the page of all of them."""
    path = out.with_suffix(".json")
    results = json.loads(path.read_text("utf-8")) if path.exists() else {}
    results[name] = result
    write_text(path, json.dumps(results, indent=1, ensure_ascii=False) + "\n")
    # As it is read again, so that the page is the same.
    read = json.loads(path.read_text("utf-8"))
    write_text(out, page(read, {case: module_of(case) for case in CASES}, path.name))


if __name__ == "__main__":
    main()
