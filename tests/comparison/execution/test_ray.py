"""Runs as tasks of Ray, on nodes that are processes of this machine."""

import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml
from commands import Command
from report_times import without_times

from tf_adapt.comparison.execution.executors import Resources, check_resources, executor_for
from tf_adapt.comparison.execution.ray_cluster import RayExecutor
from tf_adapt.errors import ConfigError

ray = pytest.importorskip("ray", reason="needs Ray, which .ci/run installs")
cluster_utils = pytest.importorskip("ray.cluster_utils")


HEAD = {
    "num_cpus": 0,
    "include_dashboard": False,
    # A dead node is noticed in seconds.
    "_system_config": {"health_check_period_ms": 300, "health_check_failure_threshold": 3},
}


@pytest.fixture(scope="module")
def cluster():
    """A head without cores, and a node of two."""
    made = cluster_utils.Cluster(initialize_head=True, head_node_args=HEAD)
    made.add_node(num_cpus=2)
    yield made
    ray.shutdown()
    made.shutdown()


def executor(cluster, tmp_path, **options) -> RayExecutor:
    return executor_for(Resources(cluster=cluster.address, **options), 1, 1, {None}, tmp_path)


def test_the_cluster_file_of_the_guide_is_one_of_ray():
    from ray.autoscaler._private.util import prepare_config, validate_config

    path = Path(__file__).parents[3] / "examples" / "cluster" / "aws.yaml"
    validate_config(prepare_config(yaml.safe_load(path.read_text("utf-8"))))


def all_ended(made: RayExecutor, seconds=120) -> list:
    found, deadline = [], time.monotonic() + seconds
    while made.running:
        assert time.monotonic() < deadline, "a task does not end"
        found += made.ended(lambda run: True)
        time.sleep(0.2)
    return found


@pytest.mark.slow
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


def test_what_is_refused(tmp_path, monkeypatch):
    with pytest.raises(ConfigError, match="HOST:PORT of a running Ray.*got 127.0.0.1:1 "):
        executor_for(Resources(cluster="127.0.0.1:1"), 1, 1, {None}, tmp_path).start(None)
    with pytest.raises(ConfigError, match="HOST:PORT of a running .*got foo .no host and port"):
        check_resources(Resources(cluster="foo"), 1, 1, {None})
    with pytest.raises(ConfigError, match="expected no --slurm beside it"):
        Resources(cluster="auto", slurm={})
    with pytest.raises(ConfigError, match="--cpus-per-run: expected --cluster beside it"):
        Resources(cpus_per_run=2)


@pytest.mark.slow
def test_p4_a_run_whose_node_dies_goes_on_elsewhere(cluster, write_config, tmp_path):
    comparison, run = _begun(cluster, write_config, tmp_path / "out", epochs=20)
    _kill_node(cluster)
    assert comparison.wait(240) == 0
    assert (run / "metrics.json").is_file() and (tmp_path / "out" / "report.json").is_file()
    _check_epochs(run, 20)


@pytest.mark.large
def test_p4_ctrl_c_ends_a_run_which_goes_on_with_the_same_command(cluster, write_config, tmp_path):
    comparison, run = _begun(cluster, write_config, tmp_path / "out", epochs=30)
    comparison.send_signal(signal.SIGINT)
    assert comparison.wait(60) == 130
    log = run.with_suffix(".log").read_text()
    assert "the same command goes on" in log and not (run / "metrics.json").exists()
    assert subprocess.run(comparison.args, check=False).returncode == 0
    _check_epochs(run, 30)


def _begun(cluster, write_config, out, epochs):
    """A comparison of one run on the cluster, after its first checkpoint."""
    changes = {"adaptations": ["freeze"], "seeds": 1, "learning_rates": [1e-2]}
    path = write_config(training={"epochs": epochs, "batch_size": 8}, **changes)
    command = [sys.executable, "-P", "-m", "tf_adapt", "compare", str(path), "--out", str(out)]
    comparison = subprocess.Popen([*command, "--cluster", cluster.address])
    state = _wait_for(lambda: next(out.rglob("seed_0/checkpoint/*/state.json"), None))
    return comparison, state.parents[2]


def _kill_node(cluster):
    (node,) = cluster.worker_nodes
    cluster.add_node(num_cpus=2)
    cluster.remove_node(node, allow_graceful=False)


def _check_epochs(run, count):
    """Each epoch is there, and at most the one that was cut short twice."""
    epochs = _epochs(run.with_suffix(".log"))
    assert sorted(set(epochs)) == list(range(1, count + 1))
    assert len(epochs) <= count + 1


@pytest.mark.large
def test_p4_a_node_and_the_comparison_killed_give_the_report_of_one_machine(write_config, tmp_path):
    """Twelve runs on three nodes."""
    path = write_config(learning_rates=[1e-3, 1e-2], seeds=4)
    whole, out = tmp_path / "whole", tmp_path / "out"
    compare = [sys.executable, "-P", "-m", "tf_adapt", "compare", str(path)]
    subprocess.run([*compare, "--out", str(whole), "--jobs", "2"], check=True)
    cluster = cluster_utils.Cluster(initialize_head=True, head_node_args=HEAD)
    try:
        nodes = [cluster.add_node(num_cpus=1) for _ in range(3)]
        command = [*compare, "--out", str(out), "--cluster", cluster.address]
        comparison = subprocess.Popen(command)
        _wait_for(lambda: _finished(out) >= 3)
        cluster.remove_node(nodes[1], allow_graceful=False)
        _wait_for(lambda: _finished(out) >= 7)
        comparison.kill()
        assert comparison.wait() < 0 and _finished(out) < 12
        subprocess.run(command, check=True)
    finally:
        cluster.shutdown()
    reports = [json.loads((folder / "report.json").read_text()) for folder in (whole, out)]
    assert without_times(reports[0]) == without_times(reports[1])


def _finished(out) -> int:
    return len(list(out.rglob("seed_*/metrics.json")))


def _epochs(log) -> list[int]:
    return [int(number) for number in re.findall(r"^epoch (\d+):", log.read_text(), re.M)]


def _wait_for(found, seconds=240):
    deadline = time.monotonic() + seconds
    while not (value := found()):
        assert time.monotonic() < deadline, "it does not come"
        time.sleep(0.1)
    return value
