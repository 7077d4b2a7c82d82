"""Who is answered: holders of the token, under this server's own name, from no other origin."""

import hmac
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

# Of the page: its own files alone, in no frame of another page.
_HEADERS = [
    (
        b"content-security-policy",
        b"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
        b"img-src data:; "
        b"base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
]


@dataclass(frozen=True)
class Names:
    """The host names under which a server answers.

    Attributes:
        own: of the machine; None: any.
        allowed: given by the user, also for pages that ask: a proxy may keep the name for itself.
    """

    own: frozenset[str] | None = frozenset(("localhost", "127.0.0.1", "::1"))
    allowed: frozenset[str] = frozenset()

    def has(self, name: str | None) -> bool:
        return self.own is None or name in self.own or name in self.allowed


class Access:
    """Middleware that refuses before anything of a request is read."""

    def __init__(
        self, app: ASGIApp, token: str | None, names: Names, observe: Callable[[int], None]
    ):
        """`observe` is told the status of each refusal."""
        self._app = app
        self._token = token
        self._names = names
        self._observe = observe

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: dict) -> None:
            if message["type"] == "http.response.start":
                message = message | {"headers": [*message["headers"], *_HEADERS]}
            await send(message)

        refused = _of_another_version(scope) or self._refused(Headers(scope=scope), scope["path"])
        if refused is not None:
            self._observe(refused.status_code)
        app = self._app if refused is None else refused
        await app(scope, receive, send_with_headers)

    def _refused(self, headers: Headers, path: str) -> JSONResponse | None:
        if path in ("/healthz", "/readyz"):
            return None
        host = headers.get("host", "")
        # A name that was made to point to this machine is how a foreign page would read answers.
        if not self._names.has(_name(f"//{host}")):
            return _error(
                403,
                "host: expected this machine or a name of --allowed-host, got another name",
            )
        origin = headers.get("origin")
        is_own = origin is None or _place(origin) == host or _name(origin) in self._names.allowed
        if not is_own:
            return _error(403, "origin: expected this server's own page, got another one")
        # The page's files hold no answer; it asks for the token itself.
        is_page = path == "/" or (path.startswith("/page/") and not path.endswith(".json"))
        if self._token is not None and not is_page:
            scheme, _, given = headers.get("authorization", "").partition(" ")
            is_right = hmac.compare_digest(given.encode("utf-8", "replace"), self._token.encode())
            if scheme.lower() != "bearer" or not is_right:
                return _error(
                    401,
                    "authorization: expected 'Bearer TOKEN' with the server's token",
                    {"www-authenticate": "Bearer"},
                )
        return None


def _of_another_version(scope: Scope) -> JSONResponse | None:
    if scope["http_version"].startswith("1."):
        return None
    return _error(505, "expected HTTP/1.1, got another version", {"connection": "close"})


def _name(address: str) -> str | None:
    try:
        return urlsplit(address).hostname
    except ValueError:
        return None


def _place(origin: str) -> str | None:
    try:
        return urlsplit(origin).netloc
    except ValueError:
        return None


def _error(status: int, message: str, headers: dict[str, str] | None = None) -> JSONResponse:
    return JSONResponse({"error": message}, status, headers)
