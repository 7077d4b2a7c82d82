"""`python -m benchmarks.results add DIR`: puts a finished comparison among the published ones;
`make results` (`python -m benchmarks.results write`) then writes the pages from all of them.

    python -m benchmarks.results add comparisons/table2_mrpc     # → docs/results/table2_mrpc/

DIR is the folder of `tf-adapt compare … --out DIR`, with `report.json` and `answers.jsonl.gz`.
Where an earlier version made it, the comparison's command, given again, writes the second file
(and trains nothing). Adding needs no data and no modules.
"""

from pathlib import Path

import click

from benchmarks.results.adding import ROOT, add
from benchmarks.results.differences import TABLE, measure, write_table
from benchmarks.results.found_figure import FIGURE, figure
from benchmarks.results.pages import PAGES, made, not_shown
from benchmarks.results.published import published
from hub_modules.storage.files import write_bytes, write_text
from tf_adapt.errors import TfAdaptError

PATH = click.Path(file_okay=False, path_type=Path)


@click.group()
def main() -> None:
    """The published comparisons."""


@main.command("add")
@click.argument(
    "folders",
    nargs=-1,
    required=True,
    metavar="DIR…",
    type=click.Path(file_okay=False, path_type=Path),
)
@click.option("--name", help="Of its folder in docs/results, for one DIR [the name of DIR].")
def add_command(folders: tuple[Path, ...], name: str | None) -> None:
    """Puts finished comparisons (DIR…) into docs/results."""
    if name is not None and len(folders) > 1:
        raise click.UsageError("--name: expected one DIR")
    for folder in folders:
        try:
            target = add(folder, name or folder.absolute().name.lower().replace("-", "_"))
        except TfAdaptError as error:
            raise click.ClickException(str(error)) from None
        click.echo(f"{folder} → {target}")


@main.command("estimate")
@click.argument("name")
@click.argument("config", type=click.Path(dir_okay=False))
def estimate_command(name: str, config: str) -> None:
    """Puts the measures of CONFIG's frozen encoders beside the published comparison NAME, for the
    table from which `tf-adapt estimate` predicts; needs the data and the modules."""
    try:
        click.echo(measure(name, config))
    except TfAdaptError as error:
        raise click.ClickException(str(error)) from None


@main.command("write")
def write_command() -> None:
    """Writes the pages from the published answers, byte for byte the same each time."""
    texts = {page: (ROOT / page).read_text("utf-8") for page in PAGES}
    try:
        contents = published()
        for page, text in texts.items():
            write_text(ROOT / page, made(text, contents, page))
        write_bytes(ROOT / FIGURE, figure(contents))
        write_table(contents)
    except TfAdaptError as error:
        raise click.ClickException(str(error)) from None
    for name in not_shown(list(texts.values()), contents):
        click.echo(f"{name}: on no page; add a place `made: comparison {name}`", err=True)
    click.echo(f"{len(contents)} comparisons → {', '.join((*PAGES, TABLE))}")


if __name__ == "__main__":
    main()
