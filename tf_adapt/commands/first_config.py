"""The command that writes a first config: `tf-adapt init`."""

import click

from tf_adapt.commands.console import PATH, json_option, print_result
from tf_adapt.errors import ConfigError


@click.command()
@click.argument("file", type=PATH, required=False)
@click.option("--example", help="In place of FILE: data that ship, names or a kind of task.")
@click.option(
    "--out", default="config.yaml", show_default=True, type=PATH, help="A file that is not there."
)
@json_option
def init(file: str | None, example: str | None, out: str, as_json: bool) -> None:
    """Looks at a data FILE (CSV, TSV, JSON lines, CoNLL) and writes a config for `compare`."""
    from dataclasses import asdict

    from tf_adapt.comparison.plan.first_config import (
        examples,
        lines,
        next_lines,
        write_config,
        write_example,
    )

    if (file is None) == (example is None):
        raise ConfigError("expected a data file or --example; name one of them")
    if example is None:
        guessed = write_config(file, out)
        print_result(asdict(guessed) | {"config": out}, lines(guessed, out), as_json)
        return
    if example not in examples():
        raise ConfigError(f"--example: expected one of {', '.join(examples())}, got {example!r}")
    write_example(example, out)
    print_result({"config": out}, next_lines(out), as_json)
