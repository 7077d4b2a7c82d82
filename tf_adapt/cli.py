"""The command line `tf-adapt`. TensorFlow is imported only by the commands that compute."""

import atexit
import contextlib
import logging
import os
import signal
import sys
import traceback
import warnings
from collections.abc import Callable
from typing import Any

import click

from tf_adapt import __version__
from tf_adapt.commands.analyses import analyze
from tf_adapt.commands.comparing import advise, compare
from tf_adapt.commands.data import data
from tf_adapt.commands.modules import encode, module
from tf_adapt.commands.runs import evaluate, export, fisher, predict, train
from tf_adapt.console import DEBUG
from tf_adapt.errors import ConfigError, TfAdaptError

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


@click.group(
    cls=Commands,
    commands=(
        *(train, evaluate, predict, export, fisher),
        *(compare, advise, analyze),
        *(module, encode, data),
    ),
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, prog_name="tf-adapt")
def cli() -> None:
    """Freeze the pretrained model, tune it, or something in between? Find out on your own data."""


def run(program: Callable[[], None] = cli) -> None:
    """The program `tf-adapt`. It leaves at once: taking TensorFlow apart would take a second."""
    code = 1  # of an exception that nobody caught

    def leave() -> None:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError):  # a closed pipe, or closed by us
                stream.flush()
        os._exit(code)

    # What is registered first is called last: libraries remove their temporary files before.
    atexit.register(leave)
    try:
        program()
        code = 0
    except SystemExit as end:
        code = end.code


class _Messages(logging.Handler):
    """Writes log records to whatever stderr is at that moment."""

    def emit(self, record: logging.LogRecord) -> None:
        click.echo(self.format(record), err=True)


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
