"""The command that writes a first config: `tf-adapt init`."""

import click

from tf_adapt.commands.console import PATH, json_option, print_result
from tf_adapt.errors import ConfigError
from tf_adapt.tasks.kinds import labelled_kinds


@click.command()
@click.argument("file", type=PATH, required=False)
@click.option(
    "--text",
    "texts",
    multiple=True,
    metavar="COLUMN",
    help="The column of the texts (given twice: of pairs); else it is guessed.",
)
@click.option("--label", metavar="COLUMN", help="The column of the labels.")
@click.option("--kind", type=click.Choice(labelled_kinds()), help="The kind of task.")
@click.option("--example", help="In place of FILE: data that ship, names or a kind of task.")
@click.option(
    "--out", default="config.yaml", show_default=True, type=PATH, help="A file that is not there."
)
@json_option
def init(
    file: str | None,
    texts: tuple[str, ...],
    label: str | None,
    kind: str | None,
    example: str | None,
    out: str,
    as_json: bool,
) -> None:
    """Looks at a data FILE (CSV, TSV, JSON, CoNLL) and writes a config for `compare`."""
    from dataclasses import asdict

    from tf_adapt.comparison.plan.first_config import (
        examples,
        lines,
        next_lines,
        write_config,
        write_example,
    )
    from tf_adapt.data.guesses import Given

    if (file is None) == (example is None):
        raise ConfigError("expected a data file or --example; name one of them")
    if example is None:
        if len(texts) > 2:
            raise ConfigError(f"--text: expected one column, or two, got {len(texts)}")
        guessed, warnings, power = write_config(file, out, Given(texts, label, kind))
        result = asdict(guessed) | {"config": out, "warnings": warnings, "power": power}
        print_result(result, lines(guessed, warnings, power, out), as_json)
        return
    if example not in examples():
        raise ConfigError(f"--example: expected one of {', '.join(examples())}, got {example!r}")
    write_example(example, out)
    print_result({"config": out}, next_lines(out), as_json)
