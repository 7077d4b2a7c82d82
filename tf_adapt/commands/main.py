"""The command line `tf-adapt`. Only commands that need TensorFlow import it."""

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

from tf_adapt.commands.analyses import analyze
from tf_adapt.commands.chatting import chat
from tf_adapt.commands.comparing import advise, compare, diagnose
from tf_adapt.commands.configs import config
from tf_adapt.commands.console import DEBUG
from tf_adapt.commands.data import data
from tf_adapt.commands.ensembles import ensemble
from tf_adapt.commands.estimating import estimate
from tf_adapt.commands.first_config import init
from tf_adapt.commands.lean_start import start_lean
from tf_adapt.commands.modules import encode, module
from tf_adapt.commands.pooling import pool
from tf_adapt.commands.predicting import evaluate, predict
from tf_adapt.commands.runs import export, fisher, train
from tf_adapt.commands.serving import serve
from tf_adapt.errors import ArtifactError, ConfigError, TfAdaptError
from tf_adapt.printing.streams import is_of_output, open_streams, printable, quiet, was_closed
from tf_adapt.runs.interruption import Interruption, leave
from tf_adapt.version import __version__

INTERRUPTED, TERMINATED, HUNG_UP, BUG = 130, 143, 129, 70
_GOES_ON = "the same command goes on where it stopped"
# Of a group without a command; from click 8.2 on an error of its own.
_NO_COMMAND = getattr(click.exceptions, "NoArgsIsHelpError", ())


class Commands(click.Group):
    """The group of commands; reports every error as one final line and an exit code."""

    def main(self, *args, standalone_mode: bool = True, **extra) -> Any:
        """Runs a command and exits with its exit code."""
        logging.basicConfig(format="%(levelname)s: %(message)s", handlers=[_Messages()])
        logging.getLogger("tf_adapt").setLevel(logging.INFO)
        loudness = quiet.set(False)
        if not os.environ.get(DEBUG):
            warnings.simplefilter("ignore")
        # To the end of the process, which writes its last line: Slurm sends SIGTERM twice.
        with contextlib.suppress(ValueError):  # not the main thread
            signal.signal(signal.SIGTERM, lambda number, frame: leave(number))
        try:
            with Interruption():
                code = super().main(*args, standalone_mode=False, **extra)
        except TfAdaptError as error:
            code = _fail(type(error).__name__, str(error), error.exit_code)
        except _NO_COMMAND as error:
            click.echo(error.ctx.get_help())
            code = 0
        except click.ClickException as error:
            code = _fail("ConfigError", _usage(error), ConfigError.exit_code)
        except (KeyboardInterrupt, click.Abort):
            code = _fail("Interrupted", _GOES_ON, INTERRUPTED)
        except SystemExit as end:
            code = end.code
            if code in (TERMINATED, HUNG_UP):
                _fail("Terminated", _GOES_ON, code)
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            code = 1
        except Exception as error:
            code = _not_printed(error) if is_of_output(error) else _bug(error)
        finally:
            quiet.reset(loudness)
        sys.exit(code if isinstance(code, int) else 0)


@click.group(
    cls=Commands,
    commands=(
        *(train, evaluate, predict, chat, export, serve, fisher, ensemble),
        *(init, estimate, compare, diagnose, pool, advise, analyze),
        *(module, encode, data, config),
    ),
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, prog_name="tf-adapt")
def cli() -> None:
    """Freeze the pretrained model, tune it, or something in between? Find out on your own data."""


def run(program: Callable[[], None] = cli) -> None:
    """The program `tf-adapt`. It ends by `os._exit`: TensorFlow's teardown would take a second."""
    code = 1  # for an uncaught exception
    open_streams()
    start_lean()

    def leave() -> None:
        nonlocal code
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except (OSError, ValueError) as error:  # a full disk; a closed pipe or stream
                code = _not_printed(error) if code == 0 and is_of_output(error) else code
        os._exit(code)

    # Registered first, so called last: after libraries have removed their temporary files.
    atexit.register(leave)
    try:
        program()
        code = 0
    except SystemExit as end:
        code = end.code


class _Messages(logging.Handler):
    """Writes log records to the current stderr."""

    def emit(self, record: logging.LogRecord) -> None:
        _echo(self.format(record))


def _usage(error: click.ClickException) -> str:
    context = getattr(error, "ctx", None)
    hint = f"; see {context.command_path} --help" if context else ""
    return f"{error.format_message().removesuffix('.')}{hint}"


def _fail(name: str, message: str, code: int) -> int:
    # One line, so that the last line of stderr is the whole message.
    _echo(f"{name}: {' '.join(message.split())}")
    return code


def _echo(text: str) -> None:
    with contextlib.suppress(OSError):  # stderr on a full disk: the exit code remains
        click.echo(printable(text), err=True)


def _not_printed(error: OSError) -> int:
    reason = "it is closed" if was_closed("stdout") else error.strerror
    message = f"standard output: cannot be written ({reason}); write elsewhere"
    return _fail("ArtifactError", message, ArtifactError.exit_code)


def _bug(error: Exception) -> int:
    if os.environ.get(DEBUG):
        traceback.print_exception(error)
    return _fail(
        type(error).__name__,
        f"{error} — this is a bug in tf_adapt: run the command again with {DEBUG}=1 and report "
        "what it prints",
        BUG,
    )
