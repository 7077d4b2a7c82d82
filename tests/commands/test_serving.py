"""`tf-adapt serve` as a process: what it says, and how it ends."""

import contextlib
import http.client
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

import tf_adapt as ta
from tf_adapt.commands import serving
from tf_adapt.commands.main import cli
from tf_adapt.errors import ConfigError

has_extra = pytest.mark.skipif(
    any(serving.importlib.util.find_spec(name) is None for name in serving._NEEDED),
    reason="the extra [serve] is not installed",
)


def last_line(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(cli, ["serve", *arguments])
    assert "Traceback" not in result.output
    return result.exit_code, result.stderr.splitlines()[-1]


def test_without_the_extra(monkeypatch):
    monkeypatch.setattr(serving, "_NEEDED", ("json", "no_such_package"))
    code, line = last_line("export")
    assert code == 2
    assert line == (
        "ConfigError: tf-adapt serve: expected the packages of the extra [serve], got none of "
        "no_such_package; install them: pip install 'tf_adapt[serve]'"
    )


def test_names_of_models(tmp_path):
    for name in ("a/1", "b", "we ird"):
        (tmp_path / name).mkdir(parents=True)
    named = serving.named_folders
    a, b, weird = (str(tmp_path / name) for name in ("a/1", "b", "we ird"))
    assert list(named((a, b, f"other={a}"))) == ["a", "b", "other"]
    assert named((f"x={weird}",)) == {"x": tmp_path / "we ird"}
    for wrong, message in (
        ((weird,), "model 'we ird': expected letters"),
        ((f"..={a}",), r"model '\.\.': expected letters"),
        ((f"x/y={a}",), "model 'x/y': expected letters"),
        ((a, str(tmp_path / "a")), "expected another name than 'a'"),
    ):
        with pytest.raises(ConfigError, match=message):
            named(wrong)


def test_tokens(tmp_path, monkeypatch):
    monkeypatch.delenv(serving.TOKEN, raising=False)
    assert serving.read_token(None) is None
    monkeypatch.setenv(serving.TOKEN, "0123456789abcdef")
    assert serving.read_token(None) == "0123456789abcdef"
    file = tmp_path / "token"
    file.write_text("fedcba9876543210\n")
    assert serving.read_token(str(file)) == "fedcba9876543210"
    for content in ("", "short", "two words of a token", "schl\u00fcssel-schl\u00fcssel"):
        file.write_text(content, "utf-8")
        with pytest.raises(ConfigError, match="--token-file") as error:
            serving.read_token(str(file))
        assert not content or content not in str(error.value)
    with pytest.raises(ConfigError, match="cannot be read"):
        serving.read_token(str(tmp_path / "none"))


@has_extra
def test_what_cannot_be_served(tmp_path, monkeypatch):
    monkeypatch.delenv(serving.TOKEN, raising=False)
    made = tmp_path / "run"
    made.mkdir()
    (made / "config.yaml").touch()
    for arguments, code, message in (
        ((str(tmp_path / "none"),), 4, "expected the folder of a run or of an export, but it"),
        ((str(tmp_path),), 4, "but it holds neither config.yaml nor manifest.json; name the"),
        ((str(tmp_path), "--port", "70000"), 2, "Invalid value for '--port'"),
        ((str(made), "--host", "no.such.host.invalid"), 2, "expected a free address"),
        ((str(made), "--queue", "64"), 2, "at least the 256 texts of one request"),
        ((str(made), "--allowed-host", "http://a.example"), 2, "without scheme and port"),
        ((), 2, "Missing argument"),
    ):
        found = last_line(*arguments)
        assert found[0] == code, found
        assert message in found[1]


@has_extra
def test_names_under_which_a_server_answers():
    own = {"localhost", "127.0.0.1", "::1"}
    assert serving.names_of("127.0.0.2", ()).own == own | {"127.0.0.2"}
    assert serving.names_of("0.0.0.0", ()).own is None
    behind = serving.names_of("0.0.0.0", ("Models.example.org",))
    assert behind.has("models.example.org") and behind.has("localhost")
    assert not behind.has("example.org")


@has_extra
def test_an_ensemble_is_exported_as_a_run_is(tmp_path):
    (tmp_path / "ensemble.json").write_text("{}")
    code, line = last_line(str(tmp_path))
    assert code == 4
    assert f"{tmp_path / 'record.json'}: cannot be read" in line


@contextlib.contextmanager
def process(*arguments: str) -> Iterator[tuple[subprocess.Popen, int, list[str]]]:
    """A running server, its port, and what it warned of."""
    environment = os.environ | {"PYTHONPATH": str(Path(ta.__file__).parents[1])}
    command = [sys.executable, "-m", "tf_adapt", "serve", *arguments, "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as child:
        warnings = []
        try:
            for line in child.stderr:
                if found := re.match(r"serving on http://[0-9.]+:(\d+) ", line):
                    yield child, int(found[1]), warnings
                    return
                if line.startswith("warning: "):
                    warnings.append(line.strip())
            pytest.fail(f"it ended: {child.wait()}")
        finally:
            child.kill()


def ask(port: int, method: str, path: str, content: dict | None = None) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    with contextlib.closing(connection):
        connection.request(method, path, content and json.dumps(content))
        answer = connection.getresponse()
        return answer.status, answer.read()


def wait_until_ready(port: int) -> None:
    for _ in range(200):
        with contextlib.suppress(OSError):
            if ask(port, "GET", "/readyz")[0] == 200:
                return
        time.sleep(0.1)
    pytest.fail("not ready")


@has_extra
@pytest.mark.slow
def test_s3_options_arrive_and_sigterm_under_load_loses_nothing_that_was_accepted(finished_export):
    # A batch waits for two seconds: the signal comes when all are accepted and none is answered.
    options = ("--batch-wait-ms", "2000", "--batch-size", "64", "--host", "0.0.0.0")
    limits = ("--max-rows", "3", "--max-characters", "8", "--max-body-bytes", "1024")
    model = f"films={finished_export().parent}"
    with process(model, *options, *limits) as (child, port, warnings):
        wait_until_ready(port)

        def predict(*texts: str) -> tuple[int, bytes]:
            return ask(port, "POST", "/v1/models/films:predict", {"instances": texts})

        for texts, status, message in (
            (["a"] * 4, 400, b"at most 3 rows"),
            (["abcdefghi"], 400, b"at most 8 characters"),
            (["a" * 1024], 413, b"at most 1024 bytes"),
        ):
            found = predict(*texts)
            assert found[0] == status and message in found[1]
        answers = []

        def request(number: int) -> None:
            answers.append((number, *predict(*[f"text {number}"] * (1 + number % 3))))

        clients = [threading.Thread(target=request, args=(number,)) for number in range(20)]
        for one in clients:
            one.start()
        for _ in range(100):
            if b"tf_adapt_active_requests 21.0" in ask(port, "GET", "/metrics")[1]:
                break
            time.sleep(0.01)
        else:
            pytest.fail("not all requests were accepted")
        assert not answers
        child.send_signal(signal.SIGTERM)
        for one in clients:
            one.join(30)
        errors = child.stderr.read()
        assert child.wait(30) == 143
    assert sorted(number for number, *_ in answers) == list(range(20))
    for number, status, body in answers:
        assert status == 200
        assert len(json.loads(body)["predictions"]) == 1 + number % 3
    assert "Traceback" not in errors
    assert warnings == ["warning: without --token-file, whoever can reach 0.0.0.0 is answered"]
    with pytest.raises(OSError):
        ask(port, "GET", "/readyz")
