"""The commands `tf-adapt data …`."""

import click

from tf_adapt.commands.console import (
    PATH,
    flat,
    json_option,
    print_result,
    set_option,
    start_tensorflow,
)

# What of a report is printed first where it is not 0.
_PROBLEMS = ("contradictions", "in both", "duplicates", "warning", "longer than the limit")


@click.group()
def data() -> None:
    """The data of a run."""


@data.command()
@click.argument("config", type=PATH)
@set_option
@json_option
def check(config: str, overrides: tuple[str, ...], as_json: bool) -> None:
    """Reads all data of CONFIG as training would, and reports; trains nothing.

    CONFIG is of a run or of a comparison.
    """
    from tf_adapt.comparison.plan.settings import is_comparison, load_comparison
    from tf_adapt.config.reading import load_config

    if is_comparison(config):
        _check_comparison(load_comparison(config, overrides), as_json)
    else:
        _check_run(load_config(config, overrides), as_json)


def _check_run(config, as_json: bool) -> None:
    start_tensorflow()
    from tf_adapt.data.check import refuse_over_long
    from tf_adapt.training.resolving.data_report import inspect_data

    parts = {name: config.of_task(name) for name in config.tasks or ()} or {None: config}
    reports = {name: inspect_data(part) for name, part in parts.items()}
    _print({"tasks": reports} if config.tasks else reports[None], as_json)
    for name, report in reports.items():
        if not config.training.truncate:
            refuse_over_long(report, *([] if name is None else [f"tasks.{name}"]))


def _check_comparison(comparison, as_json: bool) -> None:
    start_tensorflow()
    from tf_adapt.comparison.plan.data_check import inspect_comparison_data, reading
    from tf_adapt.data.check import refuse_over_long

    report = inspect_comparison_data(comparison)
    _print(report, as_json)
    for cell in comparison.cells:
        if not cell.config.training.truncate:
            refuse_over_long(report["encoders"][reading(cell)], reading(cell))


def _print(report: dict, as_json: bool) -> None:
    first, rest = [], []
    for name, value in flat(report):
        for one in value if isinstance(value, list) else [value]:
            matters = one and any(problem in name for problem in _PROBLEMS)
            (first if matters else rest).append((name, one))
    lines = [f"look at {name}: {one}" for name, one in first]
    print_result(report, [*lines, *(f"{name}: {one}" for name, one in rest)], as_json)
