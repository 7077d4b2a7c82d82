"""The commands `tf-adapt config …`."""

import json

import click

from tf_adapt.commands.console import PATH


@click.group()
def config() -> None:
    """The configs of runs and comparisons."""


@config.command()
@click.option(
    "--out", type=PATH, metavar="FILE", help="Write it there instead; an old one is replaced."
)
def schema(out: str | None) -> None:
    """Prints the JSON schema of a config, with which editors complete and check its keys.

    It holds for configs of `train` and of `compare`.
    """
    from hub_modules.storage.files import write_text
    from tf_adapt.comparison.plan.schema import config_schema

    text = json.dumps(config_schema(), indent=1)
    if out is None:
        click.echo(text)
    else:
        write_text(out, text + "\n")
        click.echo(f"schema: {out}")
