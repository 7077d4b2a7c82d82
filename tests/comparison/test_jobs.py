"""How many processes a machine takes."""

import pytest

import tf_adapt as ta
from tf_adapt.comparison.execution import executors, jobs
from tf_adapt.comparison.execution.executors import Resources
from tf_adapt.comparison.execution.jobs import gpus_wanted
from tf_adapt.errors import ConfigError

GB = 10**9
MACHINES = [
    (6, 1, 4, None, None, 4),  # as many as cores
    (3, 1, 4, 64 * GB, None, 3),  # as cells
    (6, 1, 4, 7 * GB, None, 2),  # as 3 GB each
    (6, 2, 5, 64 * GB, None, 2),  # a process has two threads
    (6, 8, 4, 64 * GB, None, 1),
    (6, 1, 4, GB, None, 1),
    (0, 1, 4, 64 * GB, None, 1),  # nothing is left to run
    (6, 1, 4, 64 * GB, 1, 1),  # one GPU
]


def test_processes_at_a_time(monkeypatch):
    for cells, threads, cores, memory, most, expected in MACHINES:
        monkeypatch.setattr(jobs, "cores", lambda given=cores: given)
        monkeypatch.setattr(jobs, "free_memory", lambda given=memory: given)
        assert jobs.jobs_at_once(cells, threads, most) == expected


@pytest.mark.parametrize(
    ("gpus", "per_run", "expected"),
    [
        ("01", 1, ["0", "1"]),
        ("01", 0.5, ["0", "1", "0", "1"]),
        ("0", 0.3, ["0", "0", "0"]),
        ("0123", 2, ["0,1", "2,3"]),
        ("012", 2, ["0,1"]),
    ],
)
def test_gpus_are_shared_out(gpus, per_run, expected):
    found = jobs.shares(list(gpus), None, per_run)
    assert found == expected
    assert jobs.shares(list(gpus), len(expected), per_run) == expected
    with pytest.raises(ConfigError, match=f"expected at most {len(expected)} with {len(gpus)}"):
        jobs.shares(list(gpus), len(expected) + 1, per_run)


def test_a_run_for_which_there_are_not_enough_gpus():
    with pytest.raises(ConfigError, match="at most 0 with 1 visible GPU and --gpus-per-run 2"):
        jobs.shares(["0"], None, 2)


def test_the_executor_of_this_machine(monkeypatch, tmp_path):
    monkeypatch.setattr(executors, "gpus", lambda: ["3", "5"])
    made = executors.executor_for(Resources(jobs=2), 4, 1, {None}, tmp_path)
    assert made.gpus == ["3", "5"]
    assert executors.executor_for(Resources(3, 0.5), 4, 1, {None}, tmp_path).gpus == ["3", "5", "3"]
    for devices in ("all", "gpu:2", "gpu:3"):  # more than there are: the run refuses it
        made = executors.executor_for(Resources(), 4, 1, {None, devices}, tmp_path)
        assert made.gpus == ["3,5"]
    monkeypatch.setattr(executors, "gpus", list)
    made = executors.executor_for(Resources(jobs=3), 4, 1, {"all"}, tmp_path)
    assert made.gpus == [None] * 3
    with pytest.raises(ConfigError, match="--gpus-per-run: expected visible NVIDIA GPUs, got 0.5"):
        executors.executor_for(Resources(3, 0.5), 4, 1, {None}, tmp_path)
    assert [gpus_wanted(names) for names in ({None}, {"cpu:2"}, {"gpu:2", "gpu:1", None})] == [
        None,
        None,
        2,
    ]


def test_the_devices_that_configs_name_are_the_default_of_gpus_per_run():
    expected = {None: 1, "cpu:4": 1, "gpu:1": 1, "gpu:3": 3, "gpu:9": 4, "all": 4}
    for devices, count in expected.items():
        assert jobs.default_gpus_per_run({devices, None}, 4) == count


@pytest.mark.parametrize("value", [0, -1, 1.5, True, "2", float("nan")])
def test_a_number_of_gpus(value):
    with pytest.raises(ConfigError, match="--gpus-per-run: expected a fraction below 1, or a"):
        executors.check_gpus_per_run("--gpus-per-run", value)


@pytest.mark.parametrize("value", [0, -1, True, "4", float("nan"), float("inf")])
def test_a_number_of_cores(value):
    with pytest.raises(ConfigError, match="cpus_per_run: expected a number above 0, got"):
        ta.compare({}, "out", cluster="auto", cpus_per_run=value)
