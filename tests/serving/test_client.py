"""`ta.Client`: what it asks, what it gives back, and what it says when something is wrong."""

import contextlib
import json
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip("starlette", reason="the extra [serve] is not installed")

from servers import (  # noqa: E402
    always_yes,
    running,
    server_of_function,
    server_of_functions,
)

import tf_adapt as ta  # noqa: E402
from tf_adapt.errors import ArtifactError, ConfigError, DataError  # noqa: E402
from tf_adapt.serving.client import client_rows
from tf_adapt.serving.server.limits import Limits, RefusedError  # noqa: E402

TOKEN = "0123456789abcdef"
YES = {"label": "yes", "scores": [0.25, 0.75]}


QUESTIONS = ta.Task("span_extraction")
NAMES = ta.Task("tagging", labels=["O", "B-PER", "I-PER"])


def client(served, **options) -> ta.Client:
    return ta.Client(f"http://127.0.0.1:{served.port}", **options)


def first_words(columns: dict) -> dict:
    """The answer to each question is the first word of its context."""
    words = [context.split()[0] for context in columns["context"]]
    count = len(words)
    return {
        "answer": words,
        "score": [0.5] * count,
        "start": [0] * count,
        "end": list(map(len, words)),
    }


def no_names(columns: dict) -> dict:
    tags = [["O"] * len(words) for words in columns["tokens"]]
    return {"tags": tags, "scores": [[[1.0, 0.0, 0.0]] * len(words) for words in tags]}


class FixedAnswer(BaseHTTPRequestHandler):
    """Gives the server's `answer` to every request; then it ends, or waits for the client to."""

    def do_GET(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.wfile.write(self.server.answer)
        if self.server.waits:
            self.rfile.read(1)

    def do_POST(self):
        self.do_GET()

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def answering(status: str, body: bytes, *headers: str, waits: bool = False) -> Iterator:
    """Another server than ours."""
    head = "\r\n".join([f"HTTP/1.1 {status}", *headers, "", ""])
    with ThreadingHTTPServer(("127.0.0.1", 0), FixedAnswer) as server:
        server.answer, server.waits = head.encode() + body, waits
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield SimpleNamespace(port=server.server_port)
        finally:
            server.shutdown()
            thread.join(30)


@pytest.fixture(scope="module")
def served():
    def answer(columns: dict) -> dict:
        if "refused" in columns["text"]:
            raise RefusedError(400, "too long")
        if "busy" in columns["text"]:
            raise RefusedError(429, "the queue is full", 7)
        if "broken" in columns["text"]:
            raise RuntimeError("broken")
        return always_yes(columns)

    # One text a call, so that `busy` is not asked for again.
    with running(server_of_function(answer, Limits(batch_rows=1), TOKEN)) as found:
        yield found


def test_texts_in_several_requests(served):
    ours = client(served, token=TOKEN, batch_size=2)
    assert ours.models() == ["m"]
    assert ours.predict(["a", "b", "c"]) == ours.predict(["a", "b", "c"], model="m") == [YES] * 3
    assert ours.predict([]) == []


def test_what_is_wrong(served):
    for texts, options, error, message in (
        ("a", {}, DataError, "expected a list of texts, got one text"),
        (["a", 1], {}, DataError, r"texts\[1\]: expected a text, got int"),
        ([("a", "b")], {}, DataError, r"texts\[0\]: expected a text, got tuple"),
        (["a"], {"model": "n"}, ConfigError, r"404: Servable not found for request: Latest\(n\)"),
        (["a"], {"model": "../m"}, DataError, "400: Malformed request"),
        (["a"], {"signature": "x"}, ConfigError, "expected one of serving_default, got 'x'"),
        (["refused"], {}, DataError, "400: too long"),
        (["busy"], {}, ArtifactError, r"429: the queue is full \(after 7 s\)"),
        (["broken"], {}, ArtifactError, "500: an error of the server; its log says which"),
        (["half \ud83d"], {}, DataError, "400: expected JSON in UTF-8"),
    ):
        with pytest.raises(error, match=message):
            client(served, token=TOKEN).predict(texts, **options)


def test_without_the_token(served):
    with pytest.raises(ConfigError, match="401: authorization: expected 'Bearer TOKEN'"):
        client(served).predict(["a"])


def test_white_space_around_a_token_is_not_of_it(served):
    assert client(served, token=f" {TOKEN}\r\n").predict(["a"]) == [YES]


def test_a_token_that_is_none_is_not_shown():
    message = "token: expected letters, digits and signs"
    for token in ("", "\n", "secret\nsecret", "secret\u20ac", "secret secret"):
        with pytest.raises(ConfigError, match=message) as refused:
            ta.Client("http://127.0.0.1:8501", token=token)
        assert "secret" not in str(refused.value)


def test_questions_in_another_script_fit_into_a_request():
    context = "\u043c\u043e\u0441\u0442 " + 5_995 * "\u0430"
    with running(server_of_functions({"m": (QUESTIONS, first_words)}, Limits())) as found:
        answers = client(found).predict([("?", context)] * 32)
        with pytest.raises(DataError, match=r"texts\[0\]: expected \(question, context\)"):
            client(found).predict([context])
    assert answers == [{"answer": context[:4], "score": 0.5, "start": 0, "end": 4}] * 32


def test_one_long_sentence_does_not_fill_the_requests_of_the_others():
    sentences = [["a"] * (9_000 if number == 16 else 1 + number % 3) for number in range(32)]
    with running(server_of_functions({"m": (NAMES, no_names)}, Limits())) as found:
        answers = client(found).predict(sentences)
    assert [len(one["tags"]) for one in answers] == list(map(len, sentences))
    assert [len(one["scores"]) for one in answers] == list(map(len, sentences))


def test_requests_are_bounded_by_rows_and_by_bytes():
    def bare(row: dict) -> dict:
        return {name: [word for word in value if word] for name, value in row.items()}

    def sizes(rows: list, most_rows: int = 32) -> list[int]:
        found = list(client_rows.batches(rows, most_rows))
        assert [bare(row) for batch in found for row in batch] == [bare(row) for row in rows]
        for batch in found:
            size = len(json.dumps(batch, ensure_ascii=False).encode())
            assert len(batch) == 1 or size <= client_rows.MOST_BYTES + 2 * len(batch)
        return list(map(len, found))

    short, long = {"text": "a"}, {"text": "\u0436" * 50_000}
    assert sizes([]) == []
    assert sizes([short] * 7, most_rows=3) == [3, 3, 1]
    assert sizes([long] * 12) == [5, 5, 2]
    assert sizes([short, {"text": "a" * 2**20}, short]) == [1, 1, 1]
    # Six times 20,000 words, all but one of them padding.
    words, word = {"tokens": ["a"] * 20_000}, {"tokens": ["a"]}
    assert sizes([word] * 3 + [words] + [word] * 30) == [6, 28]


def test_no_server_and_no_model_server():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    ours = ta.Client(f"http://127.0.0.1:{port}")
    with pytest.raises(ArtifactError, match=f"127.0.0.1:{port}: the server cannot be reached"):
        ours.predict(["a"])
    with running(server_of_function(always_yes, Limits())) as found:
        other = ta.Client(f"http://127.0.0.1:{found.port}/page/page.js?")
        with pytest.raises(ArtifactError, match="expected JSON of a model server"):
            other.models()


NESTED = b"[" * 9_000
OPENAI = b'{"object": "list", "data": [{"id": "m"}]}'
UNNAMED = b'{"models": [{"model": "m"}]}'
METADATA = (
    b'{"metadata": {"signature_def": {"signature_def": {"serving_default": {"inputs": '
    b'{"tokens": {}}}}}}%s}'
)


def test_a_server_of_another_kind():
    for body, model, message in (
        (OPENAI, None, "/v1/models: expected an answer with models, got another"),
        (UNNAMED, None, "/v1/models: expected an answer with name"),
        (OPENAI, "m", "metadata: expected an answer with metadata.signature_def.signature_def"),
        (METADATA % b"", "m", "m:predict: expected an answer with predictions"),
        (METADATA % b', "predictions": []', "m", "expected a prediction for each of 1 texts"),
        (METADATA % b', "predictions": ["O"]', "m", "expected a prediction for each of 1 texts"),
        (METADATA % b', "predictions": [{"tags": []}]', "m", "expected a prediction for each of 1"),
        (NESTED, None, "/v1/models: expected JSON of a model server"),
    ):
        with answering("200 OK", body) as found, pytest.raises(ArtifactError, match=message):
            client(found).predict([["a"]], model)


def test_an_error_whose_answer_breaks_off():
    expected = r": its answer broke off \((IncompleteRead.*|timed out)\); ask again"
    cut = answering("503 Busy", b'50\r\n{"err', "Transfer-Encoding: chunked")
    with cut as found, pytest.raises(ArtifactError, match=f"503{expected}"):
        client(found).models()
    slow = answering("404 Not Found", b"", "Content-Length: 50", waits=True)
    with slow as found, pytest.raises(ArtifactError, match=f"404{expected}"):
        client(found, timeout=0.2).models()


def test_an_error_that_is_not_a_model_servers():
    for status, kind in (("404 Not Found", ConfigError), ("502 Bad Gateway", ArtifactError)):
        for body in (NESTED, b"<html>", b"[]", b"\xff"):
            with answering(status, body) as found, pytest.raises(kind, match=f": {status[:3]}: "):
                client(found).models()


def test_an_address_that_is_none():
    addresses = ("127.0.0.1:8501", "file:///etc/passwd", "http://", "", "http://[::1")
    for url in (*addresses, "http://a:99999"):
        with pytest.raises(ConfigError, match="url: expected one like http"):
            ta.Client(url)


def test_it_needs_the_standard_library_alone():
    program = (
        "import sys, tf_adapt as ta; ta.Client('http://localhost:1')\n"
        "print([name for name in ('tensorflow', 'numpy', 'keras', 'starlette', 'pydantic')"
        " if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "[]\n", done.stderr


def test_the_guides_programs_that_need_a_server(capsys):
    page = (Path(__file__).parents[2] / "docs" / "guide_serving.md").read_text("utf-8")
    marked = r"^<!-- not run: needs a server -->\n```python\n(.*?)^```$"
    programs = re.findall(marked, page, re.DOTALL | re.MULTILINE)
    task = ta.Task("classification", labels=["no", "yes"])
    with running(server_of_functions({"export": (task, always_yes)}, Limits())) as found:
        for program in programs:
            exec(program.replace("127.0.0.1:8501", f"127.0.0.1:{found.port}"), {})
    assert len(programs) == 2
    assert capsys.readouterr().out == f"{[YES]}\n" * 2


def test_pairs_and_sentences_are_checked_for_their_signature():
    pairs = ta.Task("pair_classification", labels=["no", "yes"])
    models = {"same": (pairs, lambda columns: always_yes({"text": columns["text_a"]}))}
    with running(server_of_functions(models | {"names": (NAMES, no_names)}, Limits())) as found:
        assert client(found).predict([("a b", "c"), ("d", "e")], "same") == [YES] * 2
        with pytest.raises(DataError, match=r"texts\[0\]: expected a pair of texts"):
            client(found).predict(["a"], "same")
        with pytest.raises(DataError, match=r"texts\[1\]: expected a list of words"):
            client(found).predict([["a"], []], "names")
