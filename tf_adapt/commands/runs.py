"""The commands that train a run, and write what was trained as an export."""

from typing import TYPE_CHECKING

import click

from tf_adapt.commands.console import (
    PATH,
    check_out,
    json_option,
    print_result,
    quiet_option,
    score_line,
    set_option,
    slice_lines,
    start_tensorflow,
    trust_option,
)
from tf_adapt.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable

    from tf_adapt.training.resolving.session import Session


@click.command()
@click.argument("config", type=PATH)
@click.option(
    "--out", type=PATH, metavar="RUN", help="The run folder; an unfinished run in it goes on."
)
@set_option
@click.option("--seed", type=int, help="Overrides training.seed.")
@click.option(
    "--dry-run", is_flag=True, help="Show which groups would train when and how fast; no training."
)
@json_option
@quiet_option
@click.pass_obj
def train(
    session: "Callable[[], Session] | None",
    config: str,
    out: str | None,
    overrides: tuple[str, ...],
    seed: int | None,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Trains one model as CONFIG says, into a run folder."""
    from tf_adapt.config.reading import load_config

    check_out(out, dry_run)
    loaded = load_config(config, overrides, seed)
    start_tensorflow()
    if dry_run:
        _show_plan(loaded, as_json)
        return
    from tf_adapt.printing.words import forgetting_in_words
    from tf_adapt.training.train import train as train_run

    metrics = train_run(loaded, out, session and session())
    tasks, lines = metrics.get("tasks") or {"": metrics}, []
    for name, task_metrics in tasks.items():
        for split in ("dev", "test"):
            if split in task_metrics:
                lines.append(f"{f'{name} {split}'.lstrip()}: {score_line(task_metrics[split])}")
                slices = metrics.get("slices", {}) if name == metrics.get("target", "") else {}
                lines += slice_lines(slices.get(split, {}), task_metrics["metric"])
    if metrics.get("forgetting"):
        lines.append(f"forgetting: {forgetting_in_words(metrics['forgetting'])}")
    print_result(metrics, [*lines, f"run folder: {out}"], as_json)


@click.command()
@click.argument("runs", type=PATH, nargs=-1, required=True, metavar="RUN...")
@click.option(
    "--out", required=True, type=PATH, metavar="DIR", help="Gets the next numbered version folder."
)
@click.option(
    "--shared-encoder",
    is_flag=True,
    help="Several RUNs, or NAME=RUN, as one export with a signature each, and the encoder's "
    "weights once.",
)
@click.option(
    "--format",
    "file_format",
    type=click.Choice(("savedmodel", "openvino")),
    default="savedmodel",
    show_default=True,
    help="A SavedModel, or what is read with openvino and tokenizers, without TensorFlow.",
)
@click.option(
    "--precision",
    type=click.Choice(("float32", "bfloat16", "int8")),
    default="float32",
    show_default=True,
    help="In which the model of one RUN computes; int8, for openvino, also of several: weights "
    "rounded to 8 bits.",
)
@click.option(
    "--calibrate",
    is_flag=True,
    help="Divide the logits of one classifier by the temperature that is best on dev.",
)
@trust_option
@quiet_option
def export(
    runs: tuple[str, ...],
    out: str,
    shared_encoder: bool,
    file_format: str,
    precision: str,
    calibrate: bool,
    trust: bool,
) -> None:
    """Writes a trained RUN, or an ensemble, as a model that takes raw text.

    A run of several tasks becomes one export with a signature for each.
    """
    if len(runs) > 1 and not shared_encoder:
        raise ConfigError(
            f"export: expected one run, got {len(runs)}; with --shared-encoder they become one, "
            "else export them one by one"
        )
    lower = None if precision == "float32" else precision
    if shared_encoder and calibrate:
        raise click.UsageError("--calibrate is for one run: leave out one of the two options")
    start_tensorflow()
    from tf_adapt.training.finished.run_export import export_run, export_runs

    folder = (
        export_runs(runs, out, trust, file_format, lower)
        if shared_encoder
        else export_run(runs[0], out, trust, lower, calibrate, file_format)
    )
    click.echo(f"export: {folder}")


@click.command()
@click.argument("run", type=PATH)
@click.option(
    "--out", required=True, type=PATH, metavar="FILE", help="For penalties.ewc.fisher of a config."
)
@click.option("--examples", default=200, show_default=True, type=click.IntRange(1, 10**9))
@click.option(
    "--seed",
    default=0,
    show_default=True,
    type=click.IntRange(0, 2**31 - 1),
    help="Of the drawn outcomes.",
)
@click.option(
    "--given-labels", is_flag=True, help="Use the labels instead of drawing them from the model."
)
@click.option(
    "--previous",
    type=PATH,
    metavar="FILE",
    help="A file of this command for the tasks before; its values, times gamma, are added (online "
    "EWC).",
)
@click.option(
    "--gamma", type=click.FloatRange(0, 1), help="Weight of the tasks before.  [default: 1]"
)
@trust_option
@quiet_option
def fisher(
    run: str,
    out: str,
    examples: int,
    seed: int,
    given_labels: bool,
    previous: str | None,
    gamma: float | None,
    trust: bool,
) -> None:
    """Estimates how much each weight matters to the task of a trained RUN."""
    if gamma is not None and previous is None:
        raise ConfigError(
            f"--gamma {gamma:g}: expected --previous FILE with it, whose values it multiplies; add "
            "it, or leave out --gamma"
        )
    start_tensorflow()
    from tf_adapt.training.finished.run_fisher import fisher_of_run

    count = fisher_of_run(
        run, out, examples, seed, not given_labels, trust, previous, 1.0 if gamma is None else gamma
    )
    click.echo(f"Fisher information of {count} examples: {out}")


def _show_plan(config, as_json: bool) -> None:
    from tf_adapt.training.dry_run import dry_run

    plan = dry_run(config)
    if as_json:
        print_result(plan, [], as_json)
        return
    _print_plan(plan)


def _print_plan(plan: dict) -> None:
    from rich.console import Console

    from tf_adapt.training.cache_plan import kept_line
    from tf_adapt.training.dry_run import plan_table, tasks_table

    if "first" in plan:
        click.echo(f"trained first, once: {plan['first']['config']}")
        _print_plan(plan["first"])
        click.echo("then, from its best weights:")
    console = Console(soft_wrap=True)
    if "tasks" in plan:
        console.print(tasks_table(plan))
    console.print(plan_table(plan))
    if plan["defaults"]:
        filled = ", ".join(f"{key} {value:g}" for key, value in plan["defaults"].items())
        adaptation = plan["adaptation"]
        click.echo(f"by default, for {adaptation} on this encoder with this head: {filled}")
    factors = ", ".join(f"{name} × {factor:.4g}" for name, factor in plan["factors"].items())
    click.echo(f"rate of each group: {factors}")
    click.echo(f"parameters in all: {plan['parameters']:,}")
    if plan.get("reads"):
        click.echo(f"head: {plan['head']}, which reads {plan['reads']}")
    if plan["kept"]:
        click.echo(kept_line(plan["kept"]))
    if plan["patience"]:
        click.echo(f"a phase ends earlier after {plan['patience']} epochs without a better score")
    if plan["never"]:
        click.echo(f"the run ends before these train: {', '.join(plan['never'])}")
