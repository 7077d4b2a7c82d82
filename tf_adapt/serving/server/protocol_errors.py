"""What is no HTTP is answered too: as JSON, with the status that says why."""

import contextlib
import http
import json
from collections.abc import Iterator

import h11

_MESSAGES = {
    400: "expected a whole and valid request in HTTP/1.1, got another one",
    431: "expected a request line and headers of at most 16 KiB, got more",
    501: "transfer-encoding: expected chunked or none, got another one",
}


def error_answer(connection: h11.Connection, error: BaseException | None) -> Iterator[bytes]:
    """The bytes of the answer to a request with an `h11.RemoteProtocolError`.

    They end early where an answer has begun before, or may have no body (HEAD).
    """
    hinted = getattr(error, "error_status_hint", 400)
    status = hinted if hinted in _MESSAGES else 400
    body = json.dumps({"error": _MESSAGES[status]}).encode()
    headers = [
        ("content-type", "application/json"),
        ("content-length", str(len(body))),
        ("connection", "close"),
    ]
    reason = http.HTTPStatus(status).phrase.encode()
    response = h11.Response(status_code=status, headers=headers, reason=reason)
    with contextlib.suppress(h11.LocalProtocolError):
        for event in (response, h11.Data(data=body), h11.EndOfMessage()):
            yield connection.send(event)
