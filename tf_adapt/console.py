"""What the commands share: options, results on stdout, TensorFlow without its chatter on stderr."""

import contextlib
import faulthandler
import json
import logging
import os
import sys
from collections.abc import Iterator
from typing import Any

import click

DEBUG = "TF_ADAPT_DEBUG"

json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
set_option = click.option(
    "--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Overrides a key of the config."
)


def check_out(out: str | None, dry_run: bool) -> None:
    """A command writes into a folder, or shows what it would do.

    Raises:
        click.UsageError: both or neither are asked for.
    """
    if out is None and not dry_run:
        raise click.UsageError("Missing option '--out' (or '--dry-run', which writes nothing).")
    if out is not None and dry_run:
        raise click.UsageError("Option '--dry-run' writes nothing; leave out '--out'.")


def start_tensorflow() -> None:
    """Imports TensorFlow; until the command ends, what its C++ parts print on stderr is dropped.

    They write to file descriptor 2 whatever they are told. Our own messages go on; a crash still
    shows where it happened; TF_ADAPT_DEBUG=1 shows everything.
    """
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    if not os.environ.get(DEBUG):
        click.get_current_context().with_resource(_quiet_descriptor())
    with _unseen("sklearn", "matplotlib"):
        import tensorflow as tf

    tf.get_logger().setLevel(logging.ERROR)
    logging.getLogger("absl").setLevel(logging.ERROR)


def print_result(content: dict, lines: list[str], as_json: bool) -> None:
    """Prints the content as JSON, or the lines that say it."""
    click.echo(json.dumps(content, ensure_ascii=False, indent=1) if as_json else "\n".join(lines))


def score_line(scores: dict[str, float | None]) -> str:
    """Scores with their names in one line."""
    return ", ".join(
        f"{name} {'undefined' if value is None else f'{value:.4f}'}"
        for name, value in scores.items()
    )


def flat(content: dict, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Nested values one by one, each under the names that lead to it."""
    for name, value in content.items():
        if isinstance(value, dict) and value:
            yield from flat(value, f"{prefix}{name} ")
        else:
            yield f"{prefix}{name}", value


@contextlib.contextmanager
def _unseen(*packages: str) -> Iterator[None]:
    """Lets imports find no such packages: Keras loads them, a second long, for what is not used
    here. Afterwards they can be imported as ever."""
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
