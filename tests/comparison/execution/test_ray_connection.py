"""Which cluster of Ray is joined, and what goes to its nodes; needs no Ray."""

import json
import socket
import threading
from types import SimpleNamespace

import pytest

import tf_adapt as ta
from tf_adapt.comparison.execution import ray_cluster, ray_connection
from tf_adapt.comparison.execution.executors import Resources, executor_for
from tf_adapt.comparison.execution.ray_connection import cluster_address, join
from tf_adapt.errors import ConfigError

SETTINGS = bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])  # an empty frame, RFC 9113, section 6.5


@pytest.fixture
def address_of():
    """The address of a server that says something to all that connect."""
    servers = []

    def address_of(answer: bytes | None) -> str:
        server = socket.create_server(("127.0.0.1", 0))
        servers.append(server)

        def serve():
            connection, _ = server.accept()
            connection.recv(100)
            connection.sendall(answer)
            connection.close()

        if answer is not None:
            threading.Thread(target=serve, daemon=True).start()
        return f"127.0.0.1:{server.getsockname()[1]}"

    yield address_of
    for server in servers:
        server.close()


@pytest.fixture
def started(tmp_path, monkeypatch):
    """Writes what `ray start` leaves."""
    monkeypatch.setenv("RAY_TMPDIR", str(tmp_path))
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    (tmp_path / "ray").mkdir()
    return (tmp_path / "ray" / "ray_current_cluster").write_text


def test_auto_is_what_ray_start_left_where_it_answers(address_of, started):
    assert cluster_address("auto") is None
    started("127.0.0.1:1")
    assert cluster_address("auto") is None
    running = address_of(SETTINGS)
    started(running)
    assert cluster_address("auto") == running


def test_an_address_where_no_ray_answers_is_refused(address_of, started, monkeypatch):
    other = address_of(b"HTTP/1.1 400 Bad Request\r\n")
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:1")
    with pytest.raises(ConfigError, match="auto: RAY_ADDRESS: expected HOST:PORT.*got 127.0.0.1:1"):
        cluster_address("auto")
    with pytest.raises(ConfigError, match="--cluster: .*what answers there is not Ray"):
        cluster_address(other)
    monkeypatch.setattr(ray_connection, "ANSWER_SECONDS", 0.1)
    silent = address_of(None)
    with pytest.raises(ConfigError, match="timed out"):
        cluster_address(silent)


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ConnectionError(), "that takes this machine, got 10.0.0.1:6379"),
        (RuntimeError("Version mismatch"), "refuses to connect: Version mismatch"),
        (
            ValueError("{'HF_TOKEN': 'hf_1'}"),
            "^((?!hf_1).)*RAY_OVERRIDE_JOB_RUNTIME_ENV((?!hf_1).)*$",
        ),
    ],
)
def test_a_named_cluster_that_refuses_is_not_replaced(monkeypatch, error, message):
    def refuse(**options):
        raise error

    monkeypatch.setattr(ray_connection, "_init", refuse)
    with pytest.raises(ConfigError, match=message):
        join("10.0.0.1:6379")


def test_a_cluster_in_python_is_a_text(tmp_path):
    with pytest.raises(ConfigError, match='cluster: expected "auto", an address such as.*got 123'):
        ta.compare({}, tmp_path / "out", cluster=123)


def test_no_secret_goes_to_the_nodes_and_nothing_that_a_job_has_said(monkeypatch):
    for name in ("HF_TOKEN", "KAGGLE_KEY", "HF_HOME", "TFHUB_CACHE_DIR", "OTHER"):
        monkeypatch.setenv(name, "of ours")
    job = {"runtime_env": {"env_vars": {"HF_HOME": "of the job"}}}
    monkeypatch.setenv("RAY_JOB_CONFIG_JSON_ENV_VAR", json.dumps(job))
    options = {}
    monkeypatch.setattr(ray_connection, "_init", options.update)
    join("10.0.0.1:6379")
    sent = options["runtime_env"]["env_vars"]
    assert sent["TFHUB_CACHE_DIR"] == "of ours"
    assert not {"HF_TOKEN", "KAGGLE_KEY", "HF_HOME", "OTHER"} & set(sent)


def test_a_run_that_no_node_holds_is_said_and_refused_in_the_end(monkeypatch, tmp_path):
    monkeypatch.setattr(ray_cluster, "_check_installed", lambda: None)
    made = executor_for(Resources(cluster="10.0.0.1:6379"), 1, 1, {None}, tmp_path)
    made.needs, nodes = {"CPU": 4, "GPU": 0.5}, [{"CPU": 64.0}, {"CPU": 2.0, "GPU": 1.0}]
    monkeypatch.setattr(ray_cluster, "_nodes", lambda: nodes)
    clock = SimpleNamespace(monotonic=lambda: clock.now, now=1.0)
    monkeypatch.setattr(ray_cluster, "time", clock)
    made._look_for_room()
    expected = "expected a node with 0.5 GPU and 4 CPU.*got 1 GPU and 2 CPU on the largest"
    assert made.waits_for.startswith("--cluster: expected a node with 0.5 GPU and 4 CPU")
    clock.now += 601
    with pytest.raises(ConfigError, match=expected):
        made._look_for_room()
    nodes.append({"CPU": 4.0, "GPU": 1.0})
    made._look_for_room()
    assert made.has_room and made.waits_for is None
    nodes.clear()
    made.is_joined, made.without_room_since = False, None
    with pytest.raises(ConfigError, match="got 0 GPU and 0 CPU"):
        made._look_for_room()
