"""Runs as tasks of Ray, on nodes that are processes of this machine."""

import time

import pytest
from commands import Command

from tf_adapt.comparison.execution.ray_cluster import RayExecutor
from tf_adapt.comparison.execution.resources import Resources
from tf_adapt.errors import ConfigError

ray = pytest.importorskip("ray", reason="needs Ray, which .ci/run installs")
cluster_utils = pytest.importorskip("ray.cluster_utils")


@pytest.fixture(scope="module")
def cluster():
    """A head without cores, and two nodes of one core each."""
    made = cluster_utils.Cluster(
        initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False}
    )
    for _ in range(2):
        made.add_node(num_cpus=1)
    yield made
    ray.shutdown()
    made.shutdown()


def executor(cluster, tmp_path, **options) -> RayExecutor:
    return RayExecutor(Resources(cluster=cluster.address, **options), 1, 1, {None}, tmp_path)


def all_ended(made: RayExecutor, seconds=120) -> list:
    found, deadline = [], time.monotonic() + seconds
    while made.running:
        assert time.monotonic() < deadline, "a task does not end"
        found += made.ended(lambda run: False)
        time.sleep(0.2)
    return found


def test_tasks_leave_their_exit_codes_and_logs(cluster, tmp_path):
    made = executor(cluster, tmp_path)
    runs = [Command(tmp_path / f"run_{n}") for n in range(2)]
    runs.append(Command(tmp_path / "run_2", ("train", str(tmp_path / "missing.yaml"))))
    for run in runs:
        made.start(run)
    assert made.running == runs
    assert dict(all_ended(made)) == {runs[0]: 0, runs[1]: 0, runs[2]: ConfigError.exit_code}
    assert runs[0].log.read_text().startswith("tf-adapt, version")
    assert runs[2].log.read_text().startswith("ConfigError: ")
    made.stop()
    assert not ray.is_initialized()


def test_stop_lets_runs_save_their_state(cluster, tmp_path, monkeypatch):
    """Two runs that wait for SIGTERM, and a third in Ray's queue."""
    made = executor(cluster, tmp_path)
    runs = [Command(tmp_path / f"run_{n}", ("serve", SHIPPED, "--port", "0")) for n in range(3)]
    for run in runs:
        made.start(run)
    _wait_for(lambda: all("http://" in _text(run.log) for run in runs[:2]))
    made.stop()
    assert all("signal" in _text(run.log) for run in runs[:2])
    assert not runs[2].log.exists()


@pytest.mark.slow
def test_p5_a_run_whose_node_dies_goes_on_elsewhere(cluster, write_config, tmp_path):
    changes = {"adaptations": ["freeze"], "seeds": 1, "learning_rates": [1e-2]}
    path = write_config(training={"epochs": 16, "batch_size": 8}, **changes)
    out = tmp_path / "out"
    command = [sys.executable, "-m", "tf_adapt", "compare", str(path), "--out", str(out)]
    nodes = [cluster.add_node(num_cpus=1, resources={"other": 1})]
    comparison = subprocess.Popen([*command, "--cluster", cluster.address, "--cpus-per-run", "1"])
    state = _wait_for(lambda: next(out.rglob("seed_0/checkpoint/*/state.json"), None))
    cluster.remove_node(nodes[0], allow_graceful=False)
    assert comparison.wait(240) == 0
    run = state.parents[2]
    assert (run / "metrics.json").is_file() and (out / "report.json").is_file()
    epochs = [line.split(":")[0] for line in _text(run.with_suffix(".log")).splitlines()]
    assert [epoch for epoch in epochs if epoch.startswith("epoch")] == []


def _wait_for(found, seconds=240):
    deadline = time.monotonic() + seconds
    while not (value := found()):
        assert time.monotonic() < deadline, "it does not come"
        time.sleep(0.1)
    return value


def _text(path) -> str:
    return path.read_text() if path.exists() else ""
