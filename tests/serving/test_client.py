"""`ta.Client`: what it asks, what it gives back, and what it says when something is wrong."""

import socket
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("starlette", reason="the extra [serve] is not installed")

from servers import always_yes, running, server_of, server_of_function  # noqa: E402

import tf_adapt as ta  # noqa: E402
from tf_adapt.errors import ArtifactError, ConfigError, DataError  # noqa: E402
from tf_adapt.serving.server.limits import Limits, RefusedError  # noqa: E402
from tf_adapt.serving.shared_export import ServedTask, export_shared  # noqa: E402

TOKEN = "0123456789abcdef"
YES = {"label": "yes", "scores": [0.25, 0.75]}


def client(served, **options) -> ta.Client:
    return ta.Client(f"http://127.0.0.1:{served.port}", **options)


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


@pytest.mark.parametrize(
    ("texts", "options", "error", "message"),
    [
        ("a", {}, DataError, "expected a list of texts, got one text"),
        (["a", 1], {}, DataError, r"texts\[1\]: expected a text, got int"),
        ([("a", "b")], {}, DataError, r"texts\[0\]: expected a text, got tuple"),
        (["a"], {"model": "n"}, ConfigError, r"404: Servable not found for request: Latest\(n\)"),
        (["a"], {"model": "../m"}, DataError, "400: Malformed request"),
        (["a"], {"signature": "x"}, ConfigError, "expected one of serving_default, got 'x'"),
        (["refused"], {}, DataError, "400: too long"),
        (["busy"], {}, ArtifactError, r"429: the queue is full \(after 7 s\)"),
        (["broken"], {}, ArtifactError, "500: an error of the server; its log says which"),
    ],
)
def test_what_is_wrong(served, texts, options, error, message):
    with pytest.raises(error, match=message):
        client(served, token=TOKEN).predict(texts, **options)


def test_without_the_token(served):
    with pytest.raises(ConfigError, match="401: authorization: expected 'Bearer TOKEN'"):
        client(served).predict(["a"])


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


@pytest.mark.parametrize("url", ["127.0.0.1:8501", "file:///etc/passwd", "http://", ""])
def test_an_address_that_is_none(url):
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


@pytest.mark.slow
def test_pairs_and_sentences_as_the_models_predict(tiny_bert, tmp_path):
    encoder = ta.HubEncoder(tiny_bert, trainable=False)
    tasks = {
        "same": (ta.Task("pair_classification", labels=["no", "yes"]), "linear"),
        "names": (ta.Task("tagging", labels=["O", "B-PER", "I-PER"]), "linear_tagger"),
    }
    models = {name: ta.build_model(task, encoder, head) for name, (task, head) in tasks.items()}
    export_shared({name: ServedTask(model) for name, model in models.items()}, tmp_path / "1")
    pairs, sentences = [("a b", "c"), ("d", "e")], [["Ann", "Lee", "met", "Bo"], ["rain"]]
    with running(server_of({"both": tmp_path})) as found:
        said = client(found).predict(pairs, signature="same")
        tags = client(found).predict(sentences, "both", "names")
        with pytest.raises(DataError, match=r"texts\[0\]: expected a pair of texts"):
            client(found).predict(["a"], signature="same")
        with pytest.raises(DataError, match=r"texts\[1\]: expected a list of words"):
            client(found).predict([["a"], []], signature="names")
    for one, expected in zip(said, ta.predict(models["same"], pairs), strict=True):
        assert one["label"] == expected.label
        np.testing.assert_allclose(one["scores"], expected.scores, atol=1e-5)
    for one, expected in zip(tags, ta.predict(models["names"], sentences), strict=True):
        assert tuple(one["tags"]) == expected.label
        best = [max(row) for row in one["scores"]]
        np.testing.assert_allclose(best, expected.scores, atol=1e-5)
