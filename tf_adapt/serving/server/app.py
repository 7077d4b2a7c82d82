"""The routes of the server: TensorFlow Serving's REST API, health, metrics, and the page."""

import asyncio
import contextlib
import functools
import json
import logging
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from tf_adapt.serving.server.access import Access, Names
from tf_adapt.serving.server.answer_json import (
    check_method,
    classifications,
    predictions,
    regressions,
)
from tf_adapt.serving.server.bodies import Bodies
from tf_adapt.serving.server.limits import Limits, RefusedError
from tf_adapt.serving.server.numbers import Numbers
from tf_adapt.serving.server.openapi import openapi
from tf_adapt.serving.server.page_files import page_file, shown_models
from tf_adapt.serving.server.request_json import example_request, predict_request
from tf_adapt.serving.server.versions import Model

log = logging.getLogger(__name__)

# As TensorFlow Serving reads paths: names have no slash and no colon.
_MODEL = r"/v1/models/([^/:]+)(?:/versions/([0-9]{1,18}))?"
_ASKED = re.compile(rf"{_MODEL}:(predict|classify|regress)")
_STATUS = re.compile(rf"{_MODEL}(/metadata)?")
_LOOK_SECONDS = 1.0
_CALLS_AT_ONCE = 4
# The problem itself may name folders of the server.
_NOT_LOADED = "this version cannot be loaded; the server's log says why"


class Server:
    """The ASGI application of some models, and what it remembers between requests."""

    def __init__(self, limits: Limits, token: str | None, names: Names):
        """`token`: without it whoever reaches the server is answered."""
        self.limits = limits
        self.numbers = Numbers()
        self.executor = ThreadPoolExecutor(_CALLS_AT_ONCE, "model")
        self.models: dict[str, Model] = {}
        self.stopping = False
        self._bodies = Bodies(limits)
        self.app = Starlette(
            routes=[
                Route("/v1/models", self._answered(self._list), methods=["GET"]),
                Route("/v1/{rest:path}", self._answered(self._model), methods=["GET", "POST"]),
                Route("/healthz", self._answered(self._health), methods=["GET"]),
                Route("/readyz", self._answered(self._ready), methods=["GET"]),
                Route("/metrics", self._answered(self._metrics), methods=["GET"]),
                Route("/openapi.json", self._answered(self._openapi), methods=["GET"]),
                Route("/", self._answered(self._page), methods=["GET"]),
                Route("/page/models.json", self._answered(self._shown), methods=["GET"]),
                Route("/page/{file}", self._answered(self._page), methods=["GET"]),
            ],
            middleware=[
                Middleware(Access, token=token, names=names, observe=self._count_other),
                # Nobody is answered meanwhile: the lowest level takes a fifteenth of the time.
                Middleware(GZipMiddleware, minimum_size=1000, compresslevel=1),
            ],
            exception_handlers={HTTPException: self._no_route},
            lifespan=self._lifespan,
        )

    def observe(self, model: str, signature: str, rows: int) -> None:
        """Counts one call of a model."""
        self.numbers.batch_rows.labels(model, signature).observe(rows)

    @contextlib.asynccontextmanager
    async def _lifespan(self, app: Starlette) -> AsyncIterator[None]:
        looking = asyncio.create_task(self._look())
        yield
        looking.cancel()

    async def _look(self) -> None:
        """Looks for newer versions, for as long as the server runs."""
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            for model in self.models.values():
                try:
                    await model.look()
                except Exception as error:  # the other models, and the next time, go on
                    log.error("%s: no look for a newer version: %s", model.name, error)

    def _answered(self, endpoint: Callable[[Request], Awaitable[Response]]) -> Callable:
        """The endpoint, with errors as JSON, and counted."""

        @functools.wraps(endpoint)
        async def answered(request: Request) -> Response:
            began = time.monotonic()
            self.numbers.active.inc()
            try:
                response = await endpoint(request)
            except RefusedError as refused:
                response = error_response(refused.status, str(refused), refused.retry_after)
            except ClientDisconnect:
                response = error_response(499, "the client is gone")
            except Exception as error:
                log.error("%s: %s: %s", request.scope["path"][:100], type(error).__name__, error)
                response = error_response(500, "an error of the server; its log says which")
            finally:
                self.numbers.active.dec()
            self._count(request, response.status_code, time.monotonic() - began)
            return response

        return answered

    def _count(self, request: Request, status: int, seconds: float) -> None:
        asked = _ASKED.fullmatch(request.scope["path"])
        if asked and asked[1] in self.models:
            self.numbers.requests.labels(asked[1], asked[3], status).inc()
            self.numbers.seconds.labels(asked[1], asked[3]).observe(seconds)
        else:
            self._count_other(status)

    def _count_other(self, status: int) -> None:
        self.numbers.requests.labels("", "other", status).inc()

    async def _model(self, request: Request) -> Response:
        asked = _ASKED.fullmatch(request.scope["path"])
        if asked and request.method == "POST":
            return await self._predict(request, asked[1], _version(asked[2]), asked[3])
        status = _STATUS.fullmatch(request.scope["path"])
        if status and request.method in ("GET", "HEAD"):
            answer = self._metadata if status[3] else self._status
            return answer(status[1], _version(status[2]))
        if request.scope["path"] == "/v1/models":
            raise RefusedError(405, f"expected GET, got {request.method}")
        raise RefusedError(
            400, f"Malformed request: {request.method} {request.scope['path'][:100]}"
        )

    async def _predict(
        self, request: Request, name: str, number: int | None, method: str
    ) -> Response:
        body = await self._bodies.read(request)
        with self._served(name).version(number) as version:
            signatures = version.export.signatures
            inputs = {key: served.inputs for key, served in signatures.items()}
            read = predict_request if method == "predict" else example_request
            asked = read(body, inputs, self.limits)
            task = signatures[asked.signature].task
            check_method(method, task.kind)
            outputs = await version.batchers[asked.signature].answer(asked.columns, asked.settings)
        if method == "predict":
            return _json(predictions(outputs, asked.by_row))
        if method == "classify":
            return _json(classifications(task.labels, outputs))
        return _json(regressions(outputs))

    def _served(self, name: str) -> Model:
        if name not in self.models:
            raise RefusedError(404, f"Servable not found for request: Latest({name[:100]})")
        return self.models[name]

    def _status(self, name: str, number: int | None) -> Response:
        states = self._served(name).states()
        if number is not None:
            if number not in states:
                raise RefusedError(404, f"Could not find version {number} of model {name}")
            states = {number: states[number]}
        return _json(
            {
                "model_version_status": [
                    {
                        "version": str(version),
                        "state": state,
                        "status": {
                            "error_code": "DATA_LOSS" if problem else "OK",
                            "error_message": _NOT_LOADED if problem else "",
                        },
                    }
                    for version, (state, problem) in states.items()
                ]
            }
        )

    def _metadata(self, name: str, number: int | None) -> Response:
        with self._served(name).version(number) as version:
            signatures = {
                key: served.definition for key, served in sorted(version.export.signatures.items())
            }
            spec = {"name": name, "signature_name": "", "version": str(version.number)}
        definition = {"signature_def": {"signature_def": signatures}}
        return _json({"model_spec": spec, "metadata": definition})

    async def _list(self, request: Request) -> Response:
        models = [
            {"name": name, "versions": [str(model.current.number)]}
            for name, model in self.models.items()
        ]
        return _json({"models": models})

    async def _health(self, request: Request) -> Response:
        return _json({"status": "alive"})

    async def _ready(self, request: Request) -> Response:
        if self.stopping:
            raise RefusedError(503, "the server is stopping", 1)
        return _json({"status": "ready"})

    async def _metrics(self, request: Request) -> Response:
        self.numbers.waiting.clear()  # a version may have ended with its signatures
        for name, model in self.models.items():
            self.numbers.version.labels(name).set(model.current.number)
            for signature, batcher in model.current.batchers.items():
                self.numbers.waiting.labels(name, signature).set(batcher.waiting_rows)
        return Response(generate_latest(self.numbers.registry), media_type=CONTENT_TYPE_LATEST)

    async def _openapi(self, request: Request) -> Response:
        return _json(openapi())

    async def _page(self, request: Request) -> Response:
        return page_file(request.path_params.get("file", "index.html"))

    async def _shown(self, request: Request) -> Response:
        return _json({"models": shown_models(self.models)})

    async def _no_route(self, request: Request, error: HTTPException) -> Response:
        self._count_other(error.status_code)
        path = request.scope["path"][:100]
        if error.status_code == 405:
            got = request.method[:20]
            return error_response(405, f"{path}: expected another method than {got}")
        return error_response(error.status_code, f"Not found: {path}")


def error_response(status: int, message: str, retry_after: int | None = None) -> Response:
    """TensorFlow Serving's error body."""
    headers = {} if retry_after is None else {"retry-after": str(retry_after)}
    if status == 408:  # the rest of a body that came too late would be the next request
        headers["connection"] = "close"
    return _json({"error": message}, status, headers)


def _json(content: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    text = json.dumps(content, ensure_ascii=False, allow_nan=False)
    # Half of a pair of surrogates, in a message that quotes a path: not UTF-8.
    body = text.encode("utf-8", "backslashreplace")
    return Response(body, status, headers, "application/json")


def _version(number: str | None) -> int | None:
    return None if number is None else int(number)
