"""A server in a thread of the test, on a free port, and requests to it."""

import contextlib
import http.client
import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import uvicorn

from tf_adapt.serving.kinds import GENERATE, KINDS
from tf_adapt.serving.server.access import Names
from tf_adapt.serving.server.app import Server
from tf_adapt.serving.server.batching import Batcher
from tf_adapt.serving.server.limits import Limits
from tf_adapt.serving.server.loaded import Export, Signature, inputs_of
from tf_adapt.serving.server.run import bound_to, uvicorn_server
from tf_adapt.serving.server.versions import Model, Version, load_model
from tf_adapt.tasks.task import Task


@dataclass(frozen=True)
class Answer:
    status: int
    body: bytes
    headers: dict[str, str]

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def error(self) -> str:
        content = self.json
        assert list(content) == ["error"]
        assert "Traceback" not in content["error"]
        return content["error"]


@dataclass(frozen=True)
class Running:
    server: Server
    port: int
    program: uvicorn.Server

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        """One request on a connection of its own; what is not bytes is sent as JSON."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        with contextlib.closing(connection):
            is_raw = body is None or isinstance(body, bytes)
            content = body if is_raw else json.dumps(body).encode()
            names = {name.replace("_", "-"): value for name, value in headers.items()}
            connection.request(method, path, content, names)
            found = connection.getresponse()
            names = {name.lower(): value for name, value in found.getheaders()}
            return Answer(found.status, found.read(), names)

    def get(self, path: str, **headers: str) -> Answer:
        return self.ask("GET", path, **headers)

    def predict(self, model: str, **content: Any) -> Answer:
        return self.ask("POST", f"/v1/models/{model}:predict", content)


@contextlib.contextmanager
def running(server: Server) -> Iterator[Running]:
    program = uvicorn_server(server)
    with bound_to("127.0.0.1", 0) as bound:
        thread = threading.Thread(target=program.run, kwargs={"sockets": [bound]})
        thread.start()
        try:
            while not program.started:
                assert thread.is_alive()
                time.sleep(0.01)
            yield Running(server, bound.getsockname()[1], program)
        finally:
            program.should_exit = True
            thread.join(30)
            server.executor.shutdown(wait=False)
    assert not thread.is_alive()


def server_of(
    folders: dict[str, Path],
    limits: Limits | None = None,
    token: str | None = None,
    trust: bool = False,
) -> Server:
    limits = limits or Limits()
    server = Server(limits, token, Names())
    for name, folder in folders.items():
        server.models[name] = load_model(
            name, folder, trust, server.executor, limits, server.observe
        )
    return server


def server_of_functions(
    functions: dict[str, tuple[Task, Callable[[dict], dict]]],
    limits: Limits,
    token: str | None = None,
    card: str = "",
    names: Names | None = None,
) -> Server:
    """A server whose models are functions of the texts."""
    server = Server(limits, token, names or Names())
    for name, (task, call) in functions.items():
        inputs = inputs_of(task)
        signatures = {
            name: Signature(task, given, call, {"inputs": dict.fromkeys(given, {})})
            for name, given in (
                ("serving_default", inputs),
                (GENERATE, inputs | dict.fromkeys(KINDS[task.kind].settings, 0)),
            )
            if name != GENERATE or given != inputs
        }

        def make_batcher(_: str, function: Callable) -> Batcher:
            return Batcher(function, server.executor, limits)

        batchers = {name: make_batcher("", call) for name in signatures}
        version = Version(1, Export(signatures, card, ""), batchers)
        server.models[name] = Model(name, Path("/nowhere"), False, make_batcher, version)
    return server


def server_of_function(
    call: Callable[[dict], dict],
    limits: Limits,
    token: str | None = None,
    names: Names | None = None,
) -> Server:
    """A server with the model `m`, a classification."""
    task = Task("classification", labels=["no", "yes"])
    return server_of_functions({"m": (task, call)}, limits, token, names=names)


def always_yes(columns: dict) -> dict:
    count = len(columns["text"])
    return {"label": ["yes"] * count, "scores": [[0.25, 0.75]] * count}
