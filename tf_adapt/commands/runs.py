"""Commands that train a run, and that use a trained one."""

import click

from tf_adapt.console import (
    check_out,
    json_option,
    print_result,
    score_line,
    set_option,
    start_tensorflow,
)


@click.command()
@click.argument("config")
@click.option("--out", metavar="RUN", help="The run folder; an unfinished run in it goes on.")
@set_option
@click.option("--seed", type=int, help="Overrides training.seed.")
@click.option(
    "--dry-run", is_flag=True, help="Show which groups would train when and how fast; no training."
)
@json_option
@click.pass_obj
def train(
    kept: dict | None,
    config: str,
    out: str | None,
    overrides: tuple[str, ...],
    seed: int | None,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Trains one model as CONFIG says, into a run folder."""
    from tf_adapt.config import load_config

    check_out(out, dry_run)
    loaded = load_config(config, overrides, seed)
    start_tensorflow()
    if dry_run:
        _show_plan(loaded, as_json)
        return
    from tf_adapt.reuse import Reuse
    from tf_adapt.training import train as train_run

    if kept is not None and "reuse" not in kept:
        kept["reuse"] = Reuse()
    metrics = train_run(loaded, out, None if kept is None else kept["reuse"])
    lines = [
        f"{split}: {score_line(metrics[split])}" for split in ("dev", "test") if split in metrics
    ]
    print_result(metrics, [*lines, f"run folder: {out}"], as_json)


@click.command()
@click.argument("run")
@click.option("--data", required=True, metavar="FILE", help="In the format of the run's dataset.")
@json_option
def evaluate(run: str, data: str, as_json: bool) -> None:
    """Scores a trained RUN on a labelled file."""
    start_tensorflow()
    from tf_adapt.trained import evaluate_file

    scores = evaluate_file(run, data)
    print_result(scores, [score_line(scores)], as_json)


@click.command()
@click.argument("run_or_export")
@click.option(
    "--input",
    "source",
    required=True,
    metavar="FILE",
    help="In the dataset's format; labels are ignored.",
)
@click.option("--output", required=True, metavar="FILE", help="One line for each example.")
def predict(run_or_export: str, source: str, output: str) -> None:
    """Predicts the examples of a file with a trained run or an exported model."""
    start_tensorflow()
    from tf_adapt.trained import predict_file

    count = predict_file(run_or_export, source, output)
    click.echo(f"{count} predictions: {output}")


@click.command()
@click.argument("run")
@click.option("--out", required=True, metavar="DIR", help="Gets the next numbered version folder.")
def export(run: str, out: str) -> None:
    """Writes a trained RUN as a SavedModel that takes raw text."""
    start_tensorflow()
    from tf_adapt.trained import export_run

    click.echo(f"export: {export_run(run, out)}")


@click.command()
@click.argument("run")
@click.option("--out", required=True, metavar="FILE", help="For penalties.ewc.fisher of a config.")
@click.option("--examples", default=200, show_default=True, type=click.IntRange(min=1))
@click.option("--seed", default=0, show_default=True, type=int, help="Of the drawn outcomes.")
@click.option(
    "--given-labels", is_flag=True, help="Use the labels instead of drawing them from the model."
)
def fisher(run: str, out: str, examples: int, seed: int, given_labels: bool) -> None:
    """Estimates how much each weight matters to the task of a trained RUN."""
    start_tensorflow()
    from tf_adapt.trained import fisher_of_run

    count = fisher_of_run(run, out, examples, seed, sampled=not given_labels)
    click.echo(f"Fisher information of {count} examples: {out}")


def _show_plan(config, as_json: bool) -> None:
    from rich.console import Console

    from tf_adapt.dry_run import dry_run, plan_table

    found = dry_run(config)
    if as_json:
        print_result(found, [], as_json)
        return
    Console(soft_wrap=True).print(plan_table(found))
    factors = ", ".join(f"{name} × {factor:.4g}" for name, factor in found["factors"].items())
    click.echo(f"rate of each group: {factors}")
    click.echo(f"parameters in all: {found['parameters']:,}")
    if found["patience"]:
        click.echo(f"a phase ends earlier after {found['patience']} epochs without a better score")
    if found["never"]:
        click.echo(f"the run ends before these train: {', '.join(found['never'])}")
