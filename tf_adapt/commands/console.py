"""Shared by all commands: options, results on stdout, TensorFlow without its messages on stderr."""

import contextlib
import faulthandler
import importlib.util
import json
import logging
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from hub_modules.engines.names import ENGINES, TENSORFLOW
from hub_modules.storage.files import why_no_name
from hub_modules.storage.model_hubs import is_address
from tf_adapt.errors import ConfigError
from tf_adapt.models.after_keras import unwatch
from tf_adapt.printing.streams import printable, printable_json, quiet, shows_unicode
from tf_adapt.printing.words import counted, probability, visible

DEBUG = "TF_ADAPT_DEBUG"


class _Path(click.ParamType):
    """A valid name of a file or folder, which need not exist; optionally a URL."""

    name = "path"

    def __init__(self, may_be_address: bool = False):
        self.may_be_address = may_be_address

    def convert(self, value, param, ctx):
        fetched = self.may_be_address and is_address(value)
        reason = None if fetched else why_no_name(value)
        if reason is not None:
            problem = f"expected the name of a file or folder, got {_short(value)}: {reason}"
            self.fail(problem, param, ctx)
        return value


def _short(name: str) -> str:
    return repr(name if len(name) <= 60 else f"{name[:60]}…")


PATH, HANDLE = _Path(), _Path(may_be_address=True)
trust_option = click.option(
    "--trust",
    is_flag=True,
    help="Trust where it comes from: a program in it may run with your rights. Once is enough.",
)
engine_option = click.option(
    "--engine",
    type=click.Choice(ENGINES),
    default=TENSORFLOW,
    show_default=True,
    help="What computes the encoder; openvino needs the extra [openvino], openvino_int8 "
    "(weights in 8 bits) the extra [int8].",
)
task_option = click.option(
    "--task", metavar="NAME", help="The task, of a run of several; by default its target."
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")


def _be_quiet(context: click.Context, option: click.Parameter, asked: bool) -> None:
    if asked:  # until the command ends: see `cli.Commands`
        quiet.set(True)
        logging.getLogger("tf_adapt").setLevel(logging.ERROR)


quiet_option = click.option(
    "--quiet",
    is_flag=True,
    expose_value=False,
    callback=_be_quiet,
    help="Print nothing but errors and the result.",
)
set_option = click.option(
    "--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Overrides a key of the config."
)


def check_out(out: str | None, dry_run: bool) -> None:
    """Checks that exactly one of `--out` and `--dry-run` is given.

    Raises:
        click.UsageError: both or neither are given.
    """
    if out is None and not dry_run:
        raise click.UsageError("Missing option '--out' (or '--dry-run', which writes nothing).")
    if out is not None and dry_run:
        raise click.UsageError("Option '--dry-run' writes nothing; leave out '--out'.")


def start_tensorflow_for(*folders: Path) -> None:
    """Imports TensorFlow, if one of these folders is read by it: a light export is not.

    Raises:
        ArtifactError: one is neither a run nor an export, or its manifest is damaged.
    """
    # Here: it loads what `--help` has no use for.
    from tf_adapt.serving.reading.opened import needs_tensorflow

    if any(map(needs_tensorflow, folders)):
        start_tensorflow()


def start_tensorflow() -> None:
    """Imports TensorFlow, and drops its C++ messages on stderr until the command ends.

    These go to file descriptor 2 regardless of log levels. Our own messages and the traceback of a
    crash are still shown; TF_ADAPT_DEBUG=1 shows everything.

    Raises:
        ConfigError: it is not installed.
    """
    if importlib.util.find_spec("tensorflow") is None:
        raise ConfigError(
            "expected the package tensorflow, got none; install it: pip install tf_adapt. Without "
            "it only exports of `tf-adapt export --format openvino` are served, predicted with and "
            "evaluated"
        )
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    if not os.environ.get(DEBUG):
        click.get_current_context().with_resource(_quiet_descriptor())
    unwatch()
    with _unseen("sklearn", "matplotlib"):
        import tensorflow as tf

    tf.get_logger().setLevel(logging.ERROR)
    logging.getLogger("absl").setLevel(logging.ERROR)


def print_result(content: dict, lines: list[str], as_json: bool) -> None:
    """Prints the content as JSON, or the lines as text."""
    if as_json:
        text = json.dumps(content, ensure_ascii=not shows_unicode(), indent=1)
        click.echo(printable_json(text))
    else:
        click.echo(printable("\n".join(lines)))


def score_line(scores: dict[str, float | None]) -> str:
    """Scores with their names, as one line."""
    return ", ".join(
        f"{name} {'undefined' if value is None else f'{value:.4f}'}"
        for name, value in scores.items()
    )


def label_lines(labels: dict[str, dict[str, float]]) -> list[str]:
    """A line for each label: its precision, recall, F1 and support, below their names."""
    if not labels:
        return []
    width = max(len("label"), *(len(visible(name)) for name in labels))
    lines = [f"  {'label':{width}}  precision  recall      f1  support"]
    for name, of in labels.items():
        ratios = f"{of['precision']:9.4f}  {of['recall']:6.4f}  {of['f1']:6.4f}"
        lines.append(f"  {visible(name):{width}}  {ratios}  {of['support']:7,}")
    return lines


def slice_lines(slices: dict[str, dict | None], metric: str = "score") -> list[str]:
    """A line for each slice: its score, interval and examples, and how the rest compares."""
    lines = []
    for name, result in slices.items():
        if result is None:
            lines.append(f"  {name}: unknown of these examples")
            continue
        text = (
            f"{score_line({metric: result['score']})} on {counted(result['examples'], 'example')}"
        )
        if result["interval"]:
            text += " (95 % {:.4f} to {:.4f})".format(*result["interval"])
        rest = "undefined" if result["rest"] is None else f"{result['rest']:.4f}"
        text += f", the rest {rest}"
        if result["p_holm"] is not None:
            text += f", p {probability(result['p_holm'])}"
        lines.append(f"  {name}: {text}{': challenging' if result['challenging'] else ''}")
    return lines


def flat(content: dict, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """The leaves of nested values, each with its keys joined by spaces."""
    for name, value in content.items():
        if isinstance(value, dict) and value:
            yield from flat(value, f"{prefix}{name} ")
        else:
            yield f"{prefix}{name}", value


@contextlib.contextmanager
def _unseen(*packages: str) -> Iterator[None]:
    """Hides packages from imports in the body: Keras imports them, which takes a second, for
    features that are not used here."""
    hidden = [name for name in packages if name not in sys.modules]
    sys.modules |= dict.fromkeys(hidden)
    try:
        yield
    finally:
        for name in hidden:
            del sys.modules[name]


@contextlib.contextmanager
def _quiet_descriptor() -> Iterator[None]:
    before, kept = sys.stderr, os.dup(2)
    told_already = faulthandler.is_enabled()
    encoding = getattr(before, "encoding", None) or "utf-8"
    with (
        open(kept, "w", buffering=1, encoding=encoding, errors="backslashreplace") as ours,
        open(os.devnull, "w") as nowhere,
    ):
        os.dup2(nowhere.fileno(), 2)
        try:
            if before is sys.__stderr__:  # else it is redirected already
                sys.stderr = ours
            if not told_already:
                faulthandler.enable(ours)
            yield
        finally:
            if not told_already:
                faulthandler.disable()
            sys.stderr = before
            os.dup2(kept, 2)
