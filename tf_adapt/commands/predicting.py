"""The commands that score and predict a file with what was trained."""

from pathlib import Path

import click

from tf_adapt.commands.console import (
    PATH,
    engine_option,
    json_option,
    label_lines,
    print_result,
    quiet_option,
    score_line,
    slice_lines,
    start_tensorflow_for,
    task_option,
    trust_option,
)

signature_option = click.option(
    "--signature", metavar="NAME", help="The task, of an export of several."
)


@click.command()
@click.argument("run_or_export", type=PATH)
@click.option(
    "--data",
    required=True,
    type=PATH,
    metavar="FILE",
    help="In the format of the run's dataset, or of tables by suffix: .tsv, .csv, .jsonl; - for "
    "standard input.",
)
@click.option(
    "--out",
    type=PATH,
    metavar="DIR",
    help="Gets errors.csv (the errors, the most confident first) and confusion.csv (which labels, "
    "or types of entity, are taken for which).",
)
@signature_option
@engine_option
@task_option
@trust_option
@json_option
@quiet_option
def evaluate(
    run_or_export: str,
    data: str,
    out: str | None,
    signature: str | None,
    engine: str,
    task: str | None,
    trust: bool,
    as_json: bool,
) -> None:
    """Scores a trained run, an ensemble, an exported model or what a comparison exported on a
    labelled file."""
    folder, is_export = _started(run_or_export)
    from tf_adapt.runs.answer_files import ERRORS

    if is_export:
        from tf_adapt.training.finished.exported import evaluate_export as evaluate_file
    else:
        from tf_adapt.training.finished.trained_run import evaluate_file

    scores = evaluate_file(folder, data, trust, task, engine, out, signature)
    whole = {name: value for name, value in scores.items() if not isinstance(value, dict)}
    lines = [score_line(whole), *label_lines(scores.get("labels", {}))]
    if "calibration" in scores:
        lines.append(f"expected calibration error {scores['calibration']['ece']:.4f}")
    lines += slice_lines(scores.get("slices", {}))
    lines += [] if out is None else [f"errors: {Path(out) / ERRORS}"]
    print_result(scores, lines, as_json)


@click.command()
@click.argument("run_or_export", type=PATH)
@click.option(
    "--input",
    "source",
    required=True,
    type=PATH,
    metavar="FILE",
    help="In the dataset's format, or by suffix .tsv, .csv, .jsonl, .conll; else a text a line "
    "where there is no header; labels are ignored; - for standard input.",
)
@click.option(
    "--output",
    required=True,
    type=PATH,
    metavar="FILE",
    help="One line for each example; by suffix .jsonl, .csv, else .tsv (tagging: CoNLL columns); "
    "- for standard output.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(("tsv", "csv", "jsonl")),
    help="Of the output, in place of its suffix.",
)
@click.option(
    "--with-input",
    is_flag=True,
    help="Put all columns of the input before each prediction; those of ids are there anyway.",
)
@signature_option
@engine_option
@task_option
@trust_option
@quiet_option
def predict(
    run_or_export: str,
    source: str,
    output: str,
    form: str | None,
    with_input: bool,
    signature: str | None,
    engine: str,
    task: str | None,
    trust: bool,
) -> None:
    """Predicts the examples of a file with a trained run, an ensemble, an exported model or what a
    comparison exported."""
    folder, is_export = _started(run_or_export)
    if is_export:
        from tf_adapt.training.finished.exported import predict_export as predict_file
    else:
        from tf_adapt.training.finished.trained_run import predict_file

    count = predict_file(folder, source, output, with_input, trust, signature, task, engine, form)
    click.echo(f"{count} predictions: {output}", err=output == "-")


def _started(run_or_export: str) -> tuple[Path, bool]:
    """The folder of a run, or of the newest export in one of several, and whether it is an export;
    TensorFlow is imported where that reads it."""
    from tf_adapt.runs.exports_in import newest_export
    from tf_adapt.serving.reading.opened import is_export

    folder = newest_export(Path(run_or_export))
    start_tensorflow_for(folder)
    return folder, is_export(folder)
