"""The command that writes a first config: `tf-adapt init`."""

import click

from tf_adapt.commands.console import PATH, json_option, print_result


@click.command()
@click.argument("file", type=PATH)
@click.option(
    "--out", default="config.yaml", show_default=True, type=PATH, help="A file that is not there."
)
@json_option
def init(file: str, out: str, as_json: bool) -> None:
    """Looks at a data FILE (CSV, TSV, JSON lines, CoNLL) and writes a config for `compare`."""
    from dataclasses import asdict

    from tf_adapt.comparison.starter import lines, write_config

    found = write_config(file, out)
    print_result(asdict(found) | {"config": out}, lines(found, out), as_json)
