"""The commands `tf-adapt data …`."""

import click

from tf_adapt.console import flat, json_option, print_result, set_option, start_tensorflow


@click.group()
def data() -> None:
    """The data of a run."""


@data.command()
@click.argument("config")
@set_option
@json_option
def check(config: str, overrides: tuple[str, ...], as_json: bool) -> None:
    """Reads all data of CONFIG as training would, and reports; trains nothing."""
    from tf_adapt.config import load_config

    loaded = load_config(config, overrides)
    start_tensorflow()
    from tf_adapt.data.check import refuse_over_long
    from tf_adapt.inspecting import inspect_data

    report = inspect_data(loaded)
    print_result(report, [f"{name}: {value}" for name, value in flat(report)], as_json)
    if not loaded.training.truncate:
        refuse_over_long(report)
