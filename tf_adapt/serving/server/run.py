"""Runs the server until a signal ends it: what was accepted is answered first."""

import contextlib
import logging
import socket
from collections.abc import Callable
from pathlib import Path

import uvicorn

from hub_modules.engines.names import TENSORFLOW
from tf_adapt.errors import ConfigError
from tf_adapt.serving.server.access import Names
from tf_adapt.serving.server.app import Server
from tf_adapt.serving.server.limits import Limits
from tf_adapt.serving.server.slow_clients import PatientProtocol
from tf_adapt.serving.server.versions import load_model

INTERRUPTED, TERMINATED = 130, 143
_BACKLOG = 2048


class _Uvicorn(uvicorn.Server):
    """Tells the application that it stops: it is not ready any more."""

    def __init__(self, config: uvicorn.Config, server: Server):
        super().__init__(config)
        self._server = server

    def handle_exit(self, sig: int, frame) -> None:
        self._server.stopping = True
        super().handle_exit(sig, frame)


def bound_to(host: str, port: int) -> socket.socket:
    """A socket on this address that does not listen yet; port 0 takes a free one.

    Raises:
        ConfigError: the address is not this machine's, or the port is taken.
    """
    try:
        family, kind, number, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        bound = socket.socket(family, kind, number)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            bound.bind(address)
        except OSError:
            bound.close()
            raise
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ConfigError(
            f"--host {host} --port {port}: expected a free address of this machine, got an error "
            f"({reason}); choose another port (0: any free one) or host"
        ) from None
    return bound


def uvicorn_server(server: Server) -> uvicorn.Server:
    """The HTTP server of the application."""
    config = uvicorn.Config(
        server.app,
        loop="asyncio",
        ws="none",
        access_log=False,
        log_config=None,
        server_header=False,
        http=PatientProtocol,
        timeout_keep_alive=10,
        # A request that is being read, and then answered.
        timeout_graceful_shutdown=int(server.limits.body_seconds + server.limits.seconds) + 1,
    )
    return _Uvicorn(config, server)


def serve(
    folders: dict[str, Path],
    bound: socket.socket,
    names: Names,
    token: str | None,
    limits: Limits,
    trust: bool,
    started: Callable[[Server, str], None],
    engine: str = TENSORFLOW,
) -> int:
    """Serves models until SIGTERM or Ctrl-C; returns the exit code of that signal.

    Args:
        folders: an export, or a folder of numbered ones, by the name of the model.
        bound: from `bound_to`.
        started: is called once with the server and its address, before the first answer.
        engine: of the models' encoders: see `signature_in`.

    Raises:
        ArtifactError: an export is missing, damaged or not trusted.
        ConfigError: the engine cannot compute an encoder.
    """
    server = Server(limits, token, names)
    for name, folder in folders.items():
        server.models[name] = load_model(
            name, folder, trust, server.executor, limits, server.observe, engine
        )
    # Its lines about starting and about each error of the protocol: ours say what matters.
    logging.getLogger("uvicorn").setLevel(logging.ERROR)
    name, port = bound.getsockname()[:2]
    bound.listen(_BACKLOG)  # who asks from now on waits for the first answer
    started(server, f"http://{f'[{name}]' if ':' in name else name}:{port}")
    try:
        # uvicorn raises the signal again after its graceful end.
        uvicorn_server(server).run(sockets=[bound])
    except KeyboardInterrupt:
        return INTERRUPTED
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else TERMINATED
    finally:
        with contextlib.suppress(OSError):
            bound.close()
        server.executor.shutdown(wait=False, cancel_futures=True)
    return 0
