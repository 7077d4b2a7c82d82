"""The command line `tf-adapt`. TensorFlow is imported only by the commands that compute."""

import contextlib
import faulthandler
import json
import logging
import os
import signal
import sys
import traceback
import warnings
from collections.abc import Iterator
from typing import Any

import click

from tf_adapt import __version__
from tf_adapt.analyze_commands import analyze
from tf_adapt.errors import ConfigError, TfAdaptError

SOURCES = ("bilm-tf", "google-bert", "huggingface", "keras-nlp")
FAMILIES = ("elmo", "bert")
KINDS = ("classification", "pair_classification", "pair_regression", "tagging")
DEBUG = "TF_ADAPT_DEBUG"
INTERRUPTED, TERMINATED, BUG = 130, 143, 70


class Commands(click.Group):
    """The group of commands, which turns every error into one last line and an exit code."""

    def main(self, *args, standalone_mode: bool = True, **extra) -> Any:
        """Runs a command as a program does: ends with its exit code."""
        logging.basicConfig(format="%(levelname)s: %(message)s", handlers=[_Messages()])
        if not os.environ.get(DEBUG):
            warnings.simplefilter("ignore")
        with contextlib.suppress(ValueError):  # not the main thread
            signal.signal(signal.SIGTERM, _terminated)
        try:
            code = super().main(*args, standalone_mode=False, **extra)
        except TfAdaptError as error:
            code = _fail(type(error).__name__, str(error), error.exit_code)
        except click.ClickException as error:
            code = _fail("ConfigError", _usage(error), ConfigError.exit_code)
        except (KeyboardInterrupt, click.Abort):
            code = _fail("Interrupted", "the same command goes on where it stopped", INTERRUPTED)
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            code = 1
        except Exception as error:
            code = _bug(error)
        sys.exit(code if isinstance(code, int) else 0)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="tf-adapt")
def cli() -> None:
    """Freeze the pretrained model, tune it, or something in between? Find out on your own data."""


cli.add_command(analyze)

_json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
_trust_option = click.option(
    "--trust", is_flag=True, help="Accept a module without a manifest: its program runs as yours."
)
_set_option = click.option(
    "--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Overrides a key of the config."
)


@cli.command()
@click.argument("config")
@click.option("--out", metavar="RUN", help="The run folder; an unfinished run in it goes on.")
@_set_option
@click.option("--seed", type=int, help="Overrides training.seed.")
@click.option(
    "--dry-run", is_flag=True, help="Show which groups would train when and how fast; no training."
)
@_json_option
def train(
    config: str,
    out: str | None,
    overrides: tuple[str, ...],
    seed: int | None,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Trains one model as CONFIG says, into a run folder."""
    from tf_adapt.config import load_config

    if out is None and not dry_run:
        raise click.UsageError("Missing option '--out' (or '--dry-run', which writes nothing).")
    if out is not None and dry_run:
        raise click.UsageError("Option '--dry-run' writes nothing; leave out '--out'.")
    loaded = load_config(config, overrides, seed)
    _start_tensorflow()
    if dry_run:
        _show_plan(loaded, as_json)
        return
    from tf_adapt.training import train as train_run

    metrics = train_run(loaded, out)
    lines = [f"{split}: {_scores(metrics[split])}" for split in ("dev", "test") if split in metrics]
    _print(metrics, [*lines, f"run folder: {out}"], as_json)


@cli.command()
@click.argument("config")
@click.option("--out", required=True, metavar="DIR", help="What is finished in it is kept.")
@click.option("--seeds", type=click.IntRange(min=1), help="Overrides compare.seeds.")
@click.option("--jobs", default=1, show_default=True, type=click.IntRange(min=1))
@click.option("--cache", metavar="DIR", help="Keeps the features of frozen encoders for others.")
@_set_option
@_json_option
def compare(
    config: str,
    out: str,
    seeds: int | None,
    jobs: int,
    cache: str | None,
    overrides: tuple[str, ...],
    as_json: bool,
) -> None:
    """To tune or not to tune: runs every cell of CONFIG, tests, and says which to use.

    --jobs processes run at a time. The report is DIR/report.html.
    """
    import shlex

    from tf_adapt.comparison.comparing import compare as compare_cells
    from tf_adapt.comparison.settings import load_comparison

    comparison = load_comparison(config, overrides, seeds)
    command = shlex.join(["tf-adapt", *sys.argv[1:]])
    content = compare_cells(comparison, out, jobs, cache, command)
    found = content["verdict"]
    lines = [found["sentence"], *found["evidence"], found["guideline"]["sentence"]]
    _print(content, [*lines, f"report: {os.path.join(out, 'report.html')}"], as_json)


@cli.command()
@click.argument("run")
@click.option("--data", required=True, metavar="FILE", help="In the format of the run's dataset.")
@_json_option
def evaluate(run: str, data: str, as_json: bool) -> None:
    """Scores a trained RUN on a labelled file."""
    _start_tensorflow()
    from tf_adapt.trained import evaluate_file

    scores = evaluate_file(run, data)
    _print(scores, [_scores(scores)], as_json)


@cli.command()
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
    _start_tensorflow()
    from tf_adapt.trained import predict_file

    count = predict_file(run_or_export, source, output)
    click.echo(f"{count} predictions: {output}")


@cli.command()
@click.argument("run")
@click.option("--out", required=True, metavar="DIR", help="Gets the next numbered version folder.")
def export(run: str, out: str) -> None:
    """Writes a trained RUN as a SavedModel that takes raw text."""
    _start_tensorflow()
    from tf_adapt.trained import export_run

    click.echo(f"export: {export_run(run, out)}")


@cli.command()
@click.argument("run")
@click.option("--out", required=True, metavar="FILE", help="For penalties.ewc.fisher of a config.")
@click.option("--examples", default=200, show_default=True, type=click.IntRange(min=1))
@click.option("--seed", default=0, show_default=True, type=int, help="Of the drawn outcomes.")
@click.option(
    "--given-labels", is_flag=True, help="Use the labels instead of drawing them from the model."
)
def fisher(run: str, out: str, examples: int, seed: int, given_labels: bool) -> None:
    """Estimates how much each weight matters to the task of a trained RUN."""
    _start_tensorflow()
    from tf_adapt.trained import fisher_of_run

    count = fisher_of_run(run, out, examples, seed, sampled=not given_labels)
    click.echo(f"Fisher information of {count} examples: {out}")


@cli.command()
@click.argument("handle")
@click.option("--input", "source", required=True, metavar="FILE", help="One text a line.")
@click.option(
    "--output", required=True, metavar="FILE", help="HDF5, one data set a line, as bilm-tf."
)
@_trust_option
def encode(handle: str, source: str, output: str, trust: bool) -> None:
    """Writes the states of every layer of a module for each text of a file."""
    from tf_adapt.data.formats import Record
    from tf_adapt.data.formats.text import no_examples, read_lines

    _start_tensorflow()
    from tf_adapt.encoder import HubEncoder
    from tf_adapt.predicting import encode as encode_texts
    from tf_adapt.predicting import write_features

    lines = enumerate(read_lines(source), start=1)
    texts = [Record(line, where=f"{source}:{number}") for number, line in lines]
    if not texts:
        raise no_examples(source)
    encoder = HubEncoder(handle, trainable=False, trust=trust)
    features = encode_texts(encoder, texts, progress=True)
    write_features(output, features)
    click.echo(f"features of {len(features)} texts: {output}")


@cli.command()
@click.option("--encoder", "family", type=click.Choice(FAMILIES), required=True)
@click.option("--task", "kind", type=click.Choice(KINDS), required=True)
@_json_option
def advise(family: str, kind: str, as_json: bool) -> None:
    """Shows what the paper advises for an encoder and a task, why, and what it does not know."""
    from tf_adapt.advice import guideline, lines

    found = guideline(family, kind)
    _print(found.to_json(), lines(found), as_json)


@cli.group()
def module() -> None:
    """Pretrained modules: convert foreign weights, look inside."""


@module.command()
@click.option(
    "--from",
    "source_format",
    type=click.Choice(SOURCES),
    required=True,
    help="Format of the weights.",
)
@click.argument("source")
@click.option("--out", required=True, metavar="DIR", help="New folder for the module.")
@click.option(
    "--lower-case/--cased",
    default=None,
    help="Whether text is lower-cased first, where the source does not say.",
)
def convert(source_format: str, source: str, out: str, lower_case: bool | None) -> None:
    """Writes a Hub module from the weights in SOURCE."""
    _start_tensorflow()
    import importlib

    from hub_modules.export import write_module

    try:
        reader = importlib.import_module(f"hub_modules.sources.{source_format.replace('-', '_')}")
        found = reader.read(source, lower_case)
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"--from {source_format} needs the package {error.name}; install the extra: "
            "pip install 'tf_adapt[convert]'"
        ) from None
    write_module(found, out)
    if found.left_out:
        click.echo(f"left out, for the encoder has no use for it: {', '.join(found.left_out)}")
    click.echo(f"module: {out}")


@module.command(name="export")
@click.argument("run")
@click.option("--out", required=True, metavar="DIR", help="New folder for the module.")
def export_module(run: str, out: str) -> None:
    """Writes the encoder of a trained RUN as a module again."""
    _start_tensorflow()
    from tf_adapt.module_export import export_module as export_encoder

    click.echo(f"module: {export_encoder(run, out)}")


@module.command()
@click.argument("handle")
@_trust_option
@_json_option
def inspect(handle: str, trust: bool, as_json: bool) -> None:
    """Shows layers, groups, widths, parameters and hashes of a module."""
    _start_tensorflow()
    from tf_adapt.inspecting import inspect_module

    found = inspect_module(handle, trust)
    _print(found, [f"{name}: {value}" for name, value in _flat(found)], as_json)


@cli.group()
def data() -> None:
    """The data of a run."""


@data.command()
@click.argument("config")
@_set_option
@_json_option
def check(config: str, overrides: tuple[str, ...], as_json: bool) -> None:
    """Reads all data of CONFIG as training would, and reports; trains nothing."""
    from tf_adapt.config import load_config

    loaded = load_config(config, overrides)
    _start_tensorflow()
    from tf_adapt.data.check import refuse_over_long
    from tf_adapt.inspecting import inspect_data

    report = inspect_data(loaded)
    _print(report, [f"{name}: {value}" for name, value in _flat(report)], as_json)
    if not loaded.training.truncate:
        refuse_over_long(report)


def _show_plan(config, as_json: bool) -> None:
    from rich.console import Console

    from tf_adapt.dry_run import dry_run, plan_table

    found = dry_run(config)
    if as_json:
        _print(found, [], as_json)
        return
    Console(soft_wrap=True).print(plan_table(found))
    factors = ", ".join(f"{name} × {factor:.4g}" for name, factor in found["factors"].items())
    click.echo(f"rate of each group: {factors}")
    click.echo(f"parameters in all: {found['parameters']:,}")
    if found["patience"]:
        click.echo(f"a phase ends earlier after {found['patience']} epochs without a better score")
    if found["never"]:
        click.echo(f"the run ends before these train: {', '.join(found['never'])}")


class _Messages(logging.Handler):
    """Writes log records to whatever stderr is at that moment."""

    def emit(self, record: logging.LogRecord) -> None:
        click.echo(self.format(record), err=True)


def _start_tensorflow() -> None:
    """Imports TensorFlow; until the command ends, what its C++ parts print on stderr is dropped.

    They write to file descriptor 2 whatever they are told. Our own messages go on; a crash still
    shows where it happened; TF_ADAPT_DEBUG=1 shows everything.
    """
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    if not os.environ.get(DEBUG):
        click.get_current_context().with_resource(_quiet_descriptor())
    import tensorflow as tf

    tf.get_logger().setLevel(logging.ERROR)
    logging.getLogger("absl").setLevel(logging.ERROR)


@contextlib.contextmanager
def _quiet_descriptor() -> Iterator[None]:
    before, kept = sys.stderr, os.dup(2)
    with open(kept, "w", buffering=1, encoding="utf-8") as ours, open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), 2)
        try:
            if before is sys.__stderr__:  # else someone has put another stream in its place
                sys.stderr = ours
            if not faulthandler.is_enabled():
                faulthandler.enable(ours)
            yield
        finally:
            faulthandler.disable()
            sys.stderr = before
            os.dup2(kept, 2)


def _print(content: dict, lines: list[str], as_json: bool) -> None:
    click.echo(json.dumps(content, ensure_ascii=False, indent=1) if as_json else "\n".join(lines))


def _scores(scores: dict[str, float | None]) -> str:
    return ", ".join(
        f"{name} {'undefined' if value is None else f'{value:.4f}'}"
        for name, value in scores.items()
    )


def _flat(content: dict, prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in content.items():
        if isinstance(value, dict) and value:
            yield from _flat(value, f"{prefix}{name} ")
        else:
            yield f"{prefix}{name}", value


def _usage(error: click.ClickException) -> str:
    context = getattr(error, "ctx", None)
    hint = f"; see {context.command_path} --help" if context else ""
    return f"{error.format_message()}{hint}"


def _fail(name: str, message: str, code: int) -> int:
    # One line, so that the last line of stderr is the whole message.
    click.echo(f"{name}: {' '.join(message.split())}", err=True)
    return code


def _bug(error: Exception) -> int:
    if os.environ.get(DEBUG):
        traceback.print_exception(error)
    return _fail(
        type(error).__name__,
        f"{error} — this is a bug in tf_adapt: run the command again with {DEBUG}=1 and report "
        "what it prints",
        BUG,
    )


def _terminated(number: int, frame) -> None:
    raise SystemExit(TERMINATED)
