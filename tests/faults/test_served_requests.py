"""What a hostile client sends: a clear answer each time, and the server lives (S1, S2, S4)."""

import asyncio
import contextlib
import gzip
import http.client
import json
import resource
import socket
import time

import pytest
import tensorflow as tf

pytest.importorskip("starlette", reason="the extra [serve] is not installed")

from servers import always_yes, running, server_of_function  # noqa: E402

from tf_adapt.serving.reading.saved_model import answered_by  # noqa: E402
from tf_adapt.serving.server import slow_clients  # noqa: E402
from tf_adapt.serving.server.access import Names  # noqa: E402
from tf_adapt.serving.server.limits import Limits  # noqa: E402

PREDICT = "/v1/models/m:predict"
GOOD = {"instances": ["a"]}
TOKEN = "0123456789abcdef"


@pytest.fixture(scope="module")
def served():
    limits = Limits(body_bytes=100_000, bodies_bytes=400_000, body_seconds=3)
    with running(server_of_function(always_yes, limits)) as found:
        yield found
        assert found.ask("POST", PREDICT, GOOD).status == 200


def raw(served, request: bytes, seconds: float = 10) -> bytes:
    """Sends bytes; returns all that comes back until the server closes or falls silent."""
    with socket.create_connection(("127.0.0.1", served.port), timeout=seconds) as connection:
        connection.sendall(request)
        found = b""
        with contextlib.suppress(TimeoutError, ConnectionResetError):
            while part := connection.recv(65536):
                found += part
        return found


def test_s1_bodies(served):
    """What JSON may hold is in tests/serving/server/test_request_json.py."""
    for body, status, message in (
        (b"", 400, "expected JSON"),
        (b'{"instances": ["\xc3\x28"]}', 400, "expected JSON in UTF-8"),
        (b'{"a":' * 19_000, 400, "at most 50 nested levels"),
        (b'{"instances": [' + b"9" * 50_000 + b"]}", 400, "expected JSON"),
        (b" " * 50_000_000, 413, "a body of at most 100000 bytes, got 50000000"),
        (b" " * 100_001, 413, "got 100001 bytes"),
    ):
        answer = served.ask("POST", PREDICT, body)
        assert (answer.status, answer.headers["content-type"]) == (status, "application/json")
        assert message in answer.error


def test_s1_packed_bodies(served):
    def packed(content: bytes, encoding: str = "gzip"):
        return served.ask("POST", PREDICT, content, Content_Encoding=encoding)

    bomb = gzip.compress(b" " * 50_000_000)
    assert len(bomb) < 100_000
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert packed(bomb).status == 413
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory < 20_000
    good = gzip.compress(json.dumps(GOOD).encode())
    assert packed(good).status == 200
    for bad in (b"x", good[:-4], good + good):
        assert packed(bad).status == 400
    assert packed(good, "br").status == 415


HOST = "Host: localhost\r\n"
CHUNKED = f"POST {PREDICT} HTTP/1.1\r\n{HOST}Transfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (b"\x16\x03\x01\x02\x00\x01\x00", 400),
        (b"\x00" * 100 + b"\r\n\r\n", 400),
        ("GET\r\n\r\n", 400),
        (f"G@T /healthz HTTP/1.1\r\n{HOST}\r\n", 400),
        ("GET /healthz HTTP/1.1\r\n\r\n", 400),
        (f"POST {PREDICT} HTTP/1.1\r\n{HOST}Content-Length: -1\r\n\r\n", 400),
        (f"{CHUNKED}zz\r\n", 400),
        (f"GET / HTTP/1.1\r\n{HOST}X: {'a' * 200_000}\r\n\r\n", 431),
        (f"GET /{'a' * 200_000} HTTP/1.1\r\n{HOST}\r\n", 431),
        (CHUNKED.replace("chunked", "gzip"), 501),
        (f"GET /healthz HTTP/2.0\r\n{HOST}\r\n", 505),
        (f"FOO /healthz HTTP/1.1\r\n{HOST}Connection: close\r\n\r\n", 405),
    ],
)
def test_s1_what_is_no_http(served, request_, status):
    found = raw(served, request_.encode() if isinstance(request_, str) else request_)
    head, body = found.split(b"\r\n\r\n")
    assert int(head.split()[1]) == status
    assert b"content-type: application/json" in head
    assert list(json.loads(body)) == ["error"]


def test_s1_what_is_no_http_behind_an_answer(served, caplog):
    """The answer stays; where none may have a body, or has begun, there is no second one."""
    head, wrong = f"GET /healthz HTTP/1.1\r\n{HOST}\r\n", b"\x00\r\n\r\n"
    assert raw(served, head.encode() + wrong).count(b"HTTP/1.1 ") == 2
    for request, status in (
        (CHUNKED.replace("localhost", "example.org"), b"403"),
        (CHUNKED.replace("POST", "HEAD"), b"400"),
    ):
        with socket.create_connection(("127.0.0.1", served.port), timeout=10) as connection:
            connection.sendall(request.encode())
            found = connection.recv(4096) if status == b"403" else b""
            connection.sendall(b"zz\r\n")
            while part := connection.recv(4096):
                found += part
        assert (found.split()[1], found.count(b"HTTP/1.1 ")) == (status, 1)
    assert "Traceback" not in caplog.text


def test_s2_a_client_that_closes_its_half_is_answered():
    def slow(columns: dict) -> dict:
        time.sleep(0.1)
        return always_yes(columns)

    body = json.dumps(GOOD)
    head = f"POST {PREDICT} HTTP/1.1\r\n{HOST}Content-Length: {len(body)}\r\n\r\n"
    with running(server_of_function(slow, Limits())) as found:
        for request, statuses in (
            (head + body, ["200"]),
            ((head + body) * 3, ["200"] * 3),
            (head + body + head, ["200"]),
            (head + body[:-1], ["400"]),
            (head[:-2], ["400"]),
            ("", []),
        ):
            began = time.monotonic()
            with socket.create_connection(("127.0.0.1", found.port), timeout=10) as connection:
                connection.sendall(request.encode())
                connection.shutdown(socket.SHUT_WR)
                answer = b"".join(iter(lambda: connection.recv(65536), b""))
            parts = answer.decode().split("HTTP/1.1 ")[1:]
            assert [part.split()[0] for part in parts] == statuses
            assert all('{"error": ' in part for part in parts if part.startswith("400"))
            assert time.monotonic() - began < 3  # closed, not timed out
        assert b"tf_adapt_active_requests 1.0" in found.get("/metrics").body


def test_s1_an_error_of_the_server_is_not_shown(caplog):
    def broken(columns: dict) -> dict:
        raise RuntimeError("a secret of the server")

    def kernel(text):
        return {"label": tf.gather(text, 9)}

    calls = {"RuntimeError: a secret": broken, "indices": answered_by(kernel, None)}
    for words, call in calls.items():
        with running(server_of_function(call, Limits())) as found:
            answer = found.ask("POST", PREDICT, GOOD)
        assert (answer.status, answer.error) == (500, "an error of the server; its log says which")
        assert words in caplog.text


@pytest.mark.slow
def test_s2_a_byte_a_second_of_a_body(served):
    head = f"POST {PREDICT} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n"
    began = time.monotonic()
    found = raw(served, head.encode() + b'{"inst')
    assert 2.9 < time.monotonic() - began < 8
    assert found.startswith(b"HTTP/1.1 408")
    assert b"got 6 bytes of it" in found


def test_s2_a_byte_a_second_of_the_headers(served, monkeypatch):
    monkeypatch.setattr(slow_clients, "LOOK_SECONDS", 0.2)
    first = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
    for before in (b"", first):  # the second request of a connection, too
        with socket.create_connection(("127.0.0.1", served.port), timeout=10) as connection:
            connection.sendall(before + b"GET /hea")
            began = time.monotonic()
            with contextlib.suppress(ConnectionResetError, BrokenPipeError):
                while time.monotonic() - began < 5:
                    time.sleep(0.05)
                    connection.sendall(b"l")
            assert time.monotonic() - began < 2


def test_s2_a_slow_model_is_no_slow_client(monkeypatch):
    def slow(columns: dict) -> dict:
        time.sleep(1)
        return always_yes(columns)

    monkeypatch.setattr(slow_clients, "LOOK_SECONDS", 0.1)
    with running(server_of_function(slow, Limits())) as found:
        assert found.ask("POST", PREDICT, GOOD).status == 200


LARGE = 12_000_000


def large(columns: dict) -> dict:
    return {"label": ["a" * LARGE], "scores": [[0.25, 0.75]]}


@contextlib.contextmanager
def asked_for_much(served):
    """A connection whose client has asked, twice, and read nothing."""
    body = json.dumps(GOOD)
    head = f"POST {PREDICT} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n"
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.settimeout(10)
        connection.connect(("127.0.0.1", served.port))
        connection.sendall((head + body).encode() * 2)
        yield connection


@pytest.mark.slow
def test_s2_a_client_that_never_reads(monkeypatch):
    monkeypatch.setattr(slow_clients, "LOOK_SECONDS", 0.3)
    server = server_of_function(large, Limits())
    with running(server) as found, asked_for_much(found) as connection:
        time.sleep(2)
        read = 0
        with contextlib.suppress(ConnectionResetError):
            while part := connection.recv(2**20):
                read += len(part)
        # What was in the sockets' own buffers.
        assert read < LARGE / 2


@pytest.mark.slow
def test_s2_a_client_that_reads_slowly_is_answered(monkeypatch):
    monkeypatch.setattr(slow_clients, "LOOK_SECONDS", 0.3)
    monkeypatch.setattr(slow_clients, "READ_BYTES", 2**18)
    server = server_of_function(large, Limits())
    with running(server) as found, asked_for_much(found) as connection:
        read, began = 0, time.monotonic()
        while read < 2 * LARGE:
            while read > 1e7 * (time.monotonic() - began):
                time.sleep(0.01)
            part = connection.recv(2**18)
            assert part, f"closed after {read} bytes"
            read += len(part)
        assert time.monotonic() - began > 1


def test_s2_more_connections_than_files(monkeypatch):
    """What is beyond the bound is closed; who was there before is answered."""
    monkeypatch.setattr(slow_clients, "_most_connections", lambda: 5)
    with running(server_of_function(always_yes, Limits())) as found, contextlib.ExitStack() as held:
        for number in range(9):
            connection = socket.create_connection(("127.0.0.1", found.port), timeout=10)
            held.enter_context(connection)
            answer = b""
            # It may be closed before or after it has sent anything.
            with contextlib.suppress(ConnectionResetError, BrokenPipeError):
                connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
                answer = connection.recv(100)
            assert answer.startswith(b"HTTP/1.1 200") == (number < 5)


def test_s2_a_client_that_hangs_up(served):
    request = f"POST {PREDICT} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 19\r\n\r\n"
    for end in ('{"instances": ["a"', '{"instances": ["a"]}'):
        for _ in range(20):
            with socket.create_connection(("127.0.0.1", served.port)) as connection:
                connection.sendall((request + end).encode())
    time.sleep(0.2)
    # This one asks.
    assert b"tf_adapt_active_requests 1.0" in served.get("/metrics").body


def test_s2_500_clients_at_once():
    """What the queue does not hold is refused at once; afterwards all is as before."""
    calls = []

    def slow(columns: dict) -> dict:
        calls.append(len(columns["text"]))
        time.sleep(0.05)
        return always_yes(columns)

    body = json.dumps(GOOD)
    request = (
        f"POST {PREDICT} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
        f"Content-Length: {len(body)}\r\n\r\n{body}"
    )

    async def one(port: int) -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(request.encode())
        found = await reader.read()
        writer.close()
        return found

    async def all_at_once(port: int) -> list[bytes]:
        return await asyncio.gather(*(one(port) for _ in range(500)))

    limits = Limits(batch_rows=8, queue_rows=40, batch_wait_ms=0)
    with running(server_of_function(slow, limits)) as found:
        answers = asyncio.run(all_at_once(found.port))
        statuses = [int(answer.split()[1]) for answer in answers]
        assert set(statuses) == {200, 429}
        assert statuses.count(200) == sum(calls) >= 40
        refused = next(answer for answer in answers if b" 429 " in answer[:20])
        assert b"retry-after: 1" in refused
        began = time.monotonic()
        assert found.ask("POST", PREDICT, GOOD).status == 200
        assert time.monotonic() - began < 5


def test_s2_the_end_loses_no_request_of_a_connection_that_was_idle():
    with running(server_of_function(always_yes, Limits())) as found:
        clients = [http.client.HTTPConnection("127.0.0.1", found.port, timeout=10) for _ in "ab"]
        bodies = []
        for client in clients:
            client.request("POST", PREDICT, json.dumps(GOOD))
            bodies.append(client.getresponse().read())
        found.program.should_exit = True
        with pytest.raises(ConnectionError):  # as soon as nobody else is let in
            while True:
                socket.create_connection(("127.0.0.1", found.port)).close()
        began = time.monotonic()
        clients[0].request("POST", PREDICT, json.dumps(GOOD))
        answer = clients[0].getresponse()
        assert (answer.status, answer.headers["connection"]) == (200, "close")
        assert [answer.read()] == bodies[:1]
        # The other one does not keep the server from ending.
        assert clients[1].sock.recv(1) == b""
        assert time.monotonic() - began < 2 * slow_clients.LAST_SECONDS


def test_s2_bodies_that_fill_the_memory(served):
    """Nobody's body is kept beyond what all may hold together."""
    head = f"POST {PREDICT} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n"
    with contextlib.ExitStack() as stack:
        for _ in range(6):
            one = socket.create_connection(("127.0.0.1", served.port))
            stack.enter_context(one).sendall(head.encode() + b" " * 90_000)
        time.sleep(0.3)
        metrics = served.get("/metrics").body.decode()
        assert 'status="429"' in metrics
    time.sleep(0.2)
    assert served.ask("POST", PREDICT, GOOD).status == 200


def test_s4_path_tricks(served):
    for name in [
        "..",
        "../..",
        "../../etc/passwd",
        "%2e%2e",
        "%2e%2e%2fetc",
        "..%00",
        "m%2f..",
        "m/../m",
        "*",
    ]:
        for request in (
            f"GET /v1/models/{name}",
            f"POST /v1/models/{name}:predict",
            f"GET /{name}",
        ):
            head = (
                f"{request} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 0"
            )
            found = raw(served, f"{head}\r\n\r\n".encode())
            assert found.split()[1] in (b"400", b"404", b"405")
            assert b"root:" not in found
            assert json.loads(found.split(b"\r\n\r\n", 1)[1]).keys() == {"error"}
        assert served.get(f"/page/{name}").status == 404


def test_s4_html_is_never_answered_as_html(served):
    evil = "<script>alert(1)</script>"
    for answer in (
        served.get(f"/v1/models/{evil}"),
        served.ask("POST", PREDICT, {evil: 1}),
        served.predict("m", instances=[evil], signature_name=evil),
    ):
        assert answer.headers["content-type"] == "application/json"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.error


def test_s4_other_origins_and_names(served):
    own = f"http://127.0.0.1:{served.port}"
    for headers, status in (
        ({"Origin": own}, 200),
        ({"Origin": "https://example.org"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://["}, 403),
        ({"Origin": f"http://127.0.0.1:{served.port + 1}"}, 403),
        ({"Host": "localhost:1"}, 200),
        ({"Host": "[::1]:80"}, 200),
        ({"Host": "example.org"}, 403),
        ({"Host": "127.0.0.1.example.org"}, 403),
        ({"Host": "[::1"}, 403),
        ({"Host": ""}, 403),
    ):
        answer = served.ask("POST", PREDICT, GOOD, **headers)
        assert answer.status == status, headers
        assert status == 200 or answer.error
        assert "access-control-allow-origin" not in answer.headers
    assert served.ask("OPTIONS", PREDICT, Origin="https://example.org").status == 403


def test_s4_a_host_that_is_none(served):
    """Where the name is not checked: probes, and a server of any name."""
    for name in ("[", "[::1", "a]b"):
        assert served.get("/healthz", Host=name).status == 200
    server = server_of_function(always_yes, Limits(), names=Names(own=None))
    with running(server) as open_to_all:
        for name in ("[", "example.org"):
            answer = open_to_all.ask("POST", PREDICT, GOOD, Host=name)
            assert (answer.status, answer.json["predictions"][0]["label"]) == (200, "yes")
            assert open_to_all.get("/v2", Host=name).error == "Not found: /v2"
            assert open_to_all.ask("PUT", "/healthz", Host=name).status == 405


def test_s4_behind_a_proxy():
    """Which passes its own name on, or keeps it for itself."""
    names = Names(allowed=frozenset(("models.example.org",)))
    page = {"Origin": "https://models.example.org"}
    with running(server_of_function(always_yes, Limits(), names=names)) as found:
        for headers, status in (
            (page | {"Host": "models.example.org"}, 200),
            (page, 200),
            ({"Host": "models.example.org:8443"}, 200),
            ({"Host": "example.org"}, 403),
            ({"Origin": "https://example.org"}, 403),
        ):
            assert found.ask("POST", PREDICT, GOOD, **headers).status == status, headers
        # Refusals are counted.
        assert b'status="403"} 2.0' in found.get("/metrics").body


def test_s4_no_answer_without_the_token():
    server = server_of_function(always_yes, Limits(), TOKEN)
    with running(server) as found:
        for path in (
            "/v1/models",
            "/v1/models/m",
            "/metrics",
            "/openapi.json",
            "/page/models.json",
        ):
            assert found.get(path).status == 401
            assert found.get(path, Authorization=f"Bearer {TOKEN}").status == 200
        assert found.get(path, Authorization=f"bearer {TOKEN}").status == 200
        for wrong in ("", TOKEN, f"Bearer {TOKEN[:-1]}", f"Basic {TOKEN}", f"Bearer {TOKEN}x"):
            answer = found.ask("POST", PREDICT, GOOD, Authorization=wrong)
            assert (answer.status, answer.headers["www-authenticate"]) == (401, "Bearer")
            assert TOKEN not in answer.error
        assert found.ask("POST", PREDICT, GOOD, Authorization=f"Bearer {TOKEN}").status == 200
        # The page asks for the token itself; a probe has none.
        for path in ("/", "/page/page.js", "/healthz", "/readyz"):
            assert found.get(path).status == 200
