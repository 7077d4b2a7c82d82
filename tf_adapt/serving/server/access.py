"""Who is answered: holders of the token, under this server's own name, from no other origin."""

import hmac
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

_OWN_NAMES = ("localhost", "127.0.0.1", "::1")
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


class Access:
    """Middleware that refuses before anything of a request is read."""

    def __init__(self, app: ASGIApp, token: str | None, any_host: bool):
        self._app = app
        self._token = token
        self._any_host = any_host

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: dict) -> None:
            if message["type"] == "http.response.start":
                message = message | {"headers": [*message["headers"], *_HEADERS]}
            await send(message)

        refused = self._refused(Headers(scope=scope), scope["path"])
        app = self._app if refused is None else refused
        await app(scope, receive, send_with_headers)

    def _refused(self, headers: Headers, path: str) -> JSONResponse | None:
        if path in ("/healthz", "/readyz"):
            return None
        host = headers.get("host", "")
        # A name that was made to point to this machine is how a foreign page would read answers.
        if not self._any_host and _name(f"//{host}") not in _OWN_NAMES:
            return _error(403, "host: expected localhost, got another name")
        origin = headers.get("origin")
        if origin is not None and _place(origin) != host:
            return _error(403, "origin: expected this server's own page, got another one")
        # The page's files hold no answer; it asks for the token itself.
        is_page = path == "/" or (path.startswith("/page/") and not path.endswith(".json"))
        if self._token is not None and not is_page:
            given = headers.get("authorization", "").encode("utf-8", "replace")
            if not hmac.compare_digest(given, f"Bearer {self._token}".encode()):
                return _error(401, "authorization: expected 'Bearer TOKEN' with the server's token")
        return None


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


def _error(status: int, message: str) -> JSONResponse:
    headers = {"www-authenticate": "Bearer"} if status == 401 else None
    return JSONResponse({"error": message}, status, headers)
