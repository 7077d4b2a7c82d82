"""The command that serves models over HTTP."""

import contextlib
import importlib.util
import ipaddress
import os
import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hub_modules.engines.names import check_engine
from tf_adapt.commands.console import (
    PATH,
    engine_option,
    quiet_option,
    start_tensorflow_for,
    trust_option,
)
from tf_adapt.errors import ConfigError
from tf_adapt.printing.streams import quiet
from tf_adapt.serving.server.limits import Limits
from tf_adapt.serving.token import is_token

TOKEN = "TF_ADAPT_TOKEN"
_NEEDED = ("uvicorn", "starlette", "prometheus_client")
# As the names of signatures; a name is part of an address.
_NAME = re.compile(r"[A-Za-z0-9_.-]+")
_HOST = re.compile(r"[A-Za-z0-9_.:-]+")
_SHORTEST_TOKEN = 16

if TYPE_CHECKING:
    from tf_adapt.serving.server.access import Names


# Option, field of `Limits`, range, help.
_LIMITS = (
    ("batch-size", "batch_rows", (1, 4096), "Most texts in one call of a model."),
    ("batch-wait-ms", "batch_wait_ms", (0.0, 10_000.0), "How long a text waits for others."),
    (
        "queue",
        "queue_rows",
        (1, 10**6),
        "Texts that may wait for a model; beyond it requests are refused (429).",
    ),
    ("timeout", "seconds", (0.1, 3600.0), "Seconds for an answer."),
    (
        "max-body-bytes",
        "body_bytes",
        (1024, 64 * 2**20),
        "Largest body of a request (413 beyond it).",
    ),
    ("max-rows", "request_rows", (1, 10**6), "Most texts in a request (400 beyond it)."),
    (
        "max-characters",
        "characters",
        (1, 10**6),
        "Longest text, or sentence of words (400 beyond it).",
    ),
)


def _limit_options(command):
    for option, field, bounds, text in reversed(_LIMITS):
        kind = click.IntRange if isinstance(bounds[0], int) else click.FloatRange
        default = getattr(Limits, field)
        settings = {"default": default, "show_default": True, "type": kind(*bounds), "help": text}
        command = click.option(f"--{option}", field, **settings)(command)
    return command


@click.command()
@click.argument("models", type=PATH, nargs=-1, required=True, metavar="[NAME=]EXPORT_OR_RUN...")
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="The address to listen on: by default this machine alone can reach it.",
)
@click.option(
    "--allowed-host",
    "allowed_hosts",
    multiple=True,
    metavar="NAME",
    help="Answer also under this name, as behind a proxy; may be given more than once.",
)
@click.option("--port", default=8501, show_default=True, type=click.IntRange(0, 65535))
@click.option(
    "--token-file",
    type=PATH,
    metavar="FILE",
    help=f"Answer only requests with the token in it (or in the variable {TOKEN}).",
)
@_limit_options
@engine_option
@trust_option
@quiet_option
def serve(
    models: tuple[str, ...],
    host: str,
    allowed_hosts: tuple[str, ...],
    port: int,
    token_file: str | None,
    engine: str,
    trust: bool,
    **limits: float,
) -> int:
    """Serves exports, runs or ensembles over HTTP.

    With TensorFlow Serving's REST API, and a page to try them.

    An export is a version folder (served as it is) or the folder of numbered ones above it (of
    which the newest is served, and a newer one picked up), or that of a comparison.
    """
    check_installed()
    check_engine(engine)
    check_queue(limits["queue_rows"], limits["request_rows"])
    named = named_folders(models)
    token = read_token(token_file)
    from tf_adapt.runs.exports_in import newest_export, versions_folder

    start_tensorflow_for(*map(newest_export, named.values()))
    from tf_adapt.serving.server.run import bound_to, serve

    with contextlib.ExitStack() as stack:
        bound = stack.enter_context(bound_to(host, port))
        names = names_of(bound.getsockname()[0], allowed_hosts)
        if token is None and names.own is None:
            _echo(f"warning: without --token-file, whoever can reach {host} is answered")
        folders = {
            name: _exported(folder, trust, stack)
            if _is_trained(folder)
            else versions_folder(folder)
            for name, folder in named.items()
        }
        return serve(folders, bound, names, token, Limits(**limits), trust, _say, engine)


def check_installed() -> None:
    """Checks that the server's packages are there.

    Raises:
        ConfigError: one is missing.
    """
    missing = [name for name in _NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise ConfigError(
            f"tf-adapt serve: expected the packages of the extra [serve], got none of "
            f"{', '.join(missing)}; install them: pip install 'tf_adapt[serve]'"
        )


def named_folders(models: tuple[str, ...]) -> dict[str, Path]:
    """The folder of each model by name: the one before `=`, else the folder's, or that above a
    version.

    Raises:
        ConfigError: a name is no name, or is used twice.
    """
    folders: dict[str, Path] = {}
    for given in models:
        name, _, path = given.rpartition("=") if not Path(given).is_dir() else ("", "", given)
        folder = Path(path).resolve()
        name = name or (folder.parent.name if folder.name.isdecimal() else folder.name)
        if not _NAME.fullmatch(name) or set(name) == {"."}:
            raise ConfigError(
                f"model {name!r}: expected letters, digits and the characters _ . - for a name; "
                f"give another one, as NAME={path}"
            )
        if name in folders:
            raise ConfigError(
                f"{given}: expected another name than {name!r}, which names a model already; give "
                f"one, as NAME={path}"
            )
        folders[name] = folder
    return folders


def read_token(file: str | None) -> str | None:
    """The token of the file, else of the variable, else None.

    Raises:
        ConfigError: the file cannot be read, or the token is too short or not ASCII.
    """
    token, where = os.environ.get(TOKEN), TOKEN
    if file is not None:
        where = f"--token-file {file}"
        try:
            token = Path(file).read_text("ascii")
        except (OSError, UnicodeError) as error:
            reason = getattr(error, "strerror", None) or "it is not ASCII"
            raise ConfigError(f"{where}: cannot be read ({reason}); give another file") from None
    if token is None:
        return None
    token = token.strip()
    if len(token) < _SHORTEST_TOKEN or not is_token(token):
        raise ConfigError(
            f"{where}: expected a token of at least {_SHORTEST_TOKEN} letters, digits and signs, "
            "got another text; make one: python -c 'import secrets; print(secrets.token_hex())'"
        )
    return token


def check_queue(queue: int, max_rows: int) -> None:
    """Checks that the queue holds each request that is taken.

    Raises:
        ConfigError: it does not.
    """
    if queue < max_rows:
        raise ConfigError(
            f"--queue {queue}: expected at least the {max_rows} texts of one request (--max-rows), "
            f"which would be refused as long as anything waits; give --max-rows {queue} too, or a "
            "longer queue"
        )


def names_of(address: str, allowed: tuple[str, ...]) -> "Names":
    """The names under which a server that listens on this address answers: any, if other machines
    can reach it and none is given.

    Raises:
        ConfigError: one is no name of a host.
    """
    # Here: it loads what `--help` has no use for.
    from tf_adapt.serving.server.access import Names

    for name in allowed:
        if not _HOST.fullmatch(name):
            raise ConfigError(
                f"--allowed-host {name}: expected the name of a host without scheme and port, as "
                "models.example.org, got another text"
            )
    given = frozenset(name.lower() for name in allowed)
    if ipaddress.ip_address(address).is_loopback or given:
        return Names(Names.own | {address}, given)
    return Names(None, given)


def _is_trained(folder: Path) -> bool:
    """Whether it is a run or an ensemble, not an export."""
    # Here: both load what `--help` has no use for.
    from tf_adapt.runs import run_folder
    from tf_adapt.runs.ensemble_folder import is_ensemble

    is_run = (folder / run_folder.CONFIG).is_file() or is_ensemble(folder)
    return is_run and not (folder / "manifest.json").is_file()


def _exported(run: Path, trust: bool, stack: contextlib.ExitStack) -> Path:
    """The export of a run or an ensemble, in a folder that is removed at the end."""
    from tf_adapt.training.finished.run_export import export_run

    folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="tf_adapt_serve_"))
    return export_run(run, folder, trust)


def _say(server, address: str) -> None:
    for name, model in server.models.items():
        tasks = ", ".join(one.task.kind for one in model.current.export.of_tasks.values())
        _echo(f"{name}: version {model.current.number} ({tasks})")
    _echo(f"serving on {address} (page and API); Ctrl-C ends it")


def _echo(line: str) -> None:
    if not quiet.get():
        click.echo(line, err=True)
