"""What a machine has, read from the files in which Linux says it."""

import os

import pytest

from hub_modules.storage import machine

GB = 10**9


@pytest.fixture
def system(tmp_path):
    """Writes files of a made-up system; returns its root."""

    def write(**files):
        for name, text in files.items():
            path = tmp_path / name.replace("__", "/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return tmp_path

    return write


def groups(folder, **files) -> dict:
    names = {name.replace("_", ".", 1): text for name, text in files.items()}
    return {f"sys__fs__cgroup{folder}__{name}": text for name, text in names.items()}


MEMINFO = {"proc__meminfo": "MemTotal: 30 kB\nMemFree: 7 kB\nMemAvailable:    9000000 kB\n"}


def test_a_process_counts_its_seconds_from_its_start(system, monkeypatch):
    monkeypatch.setattr(os, "sysconf", {"SC_CLK_TCK": 100}.get)
    stat = f"7 (a b) c) S {' '.join(['0'] * 18)} 4250 0 0\n"
    root = system(proc__self__stat=stat, proc__uptime="50.25 80.00\n")
    assert machine.process_seconds(root) == 50.25 - 42.5
    assert machine.process_seconds(root / "other") == 0.0
    assert 0 < machine.process_seconds() < 10**6


def test_memory_is_what_the_system_calls_available(system):
    assert machine.free_memory(system()) is None
    assert machine.free_memory(system(**MEMINFO)) == 9_000_000 * 1024


def test_memory_of_a_container_counts_the_files_it_keeps_as_free(system):
    root = system(
        **MEMINFO,
        proc__self__cgroup="0::/a/b\n",
        **groups("__a", memory_max=f"{5 * GB}\n", memory_current=f"{4 * GB}\n"),
        **groups("__a__b", memory_max="max\n", memory_current="7\n"),
    )
    assert machine.free_memory(root) == GB
    system(**groups("__a", memory_stat=f"anon 1\ninactive_file {GB}\ntotal_inactive_file 9\n"))
    assert machine.free_memory(root) == 2 * GB


def test_memory_of_a_container_of_the_first_version(system):
    files = {"limit_in_bytes": f"{2 * GB}\n", "usage_in_bytes": f"{3 * GB}\n"}
    root = system(
        **MEMINFO,
        proc__self__cgroup="3:cpu,cpuacct:/x\n4:memory:/y/z\n",
        # As in a container, which sees its own group as the topmost one.
        **groups("__memory", **{f"memory_{name}": text for name, text in files.items()}),
    )
    assert machine.free_memory(root) == 0


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (groups("", cpu_max="max 100000\n"), None),
        (groups("", cpu_max="100000 100000\n"), 1),
        (groups("", cpu_max="50000 100000\n"), 1),
        (groups("__cpu", cpu_cfs_quota_us="-1\n", cpu_cfs_period_us="100000\n"), None),
        (groups("__cpu", cpu_cfs_quota_us="100000\n", cpu_cfs_period_us="100000\n"), 1),
        ({}, None),
    ],
)
def test_cores_of_a_container(system, files, expected):
    root = system(proc__self__cgroup="0::/\n3:cpu:/\n", **files)
    here = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    assert machine.cores(root) == (expected or here)


def test_a_gpu_counts_unless_it_is_hidden(system, monkeypatch):
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert not machine.has_gpu(system(dev__nvidiactl="", dev__null=""))
    root = system(dev__nvidia0="")
    assert machine.has_gpu(root)
    for value, expected in (("", False), ("-1", False), ("0", True)):
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", value)
        assert machine.has_gpu(root) is expected


def test_the_gpus_that_are_visible(system, monkeypatch):
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    root = system(dev__nvidia0="", dev__nvidia2="", dev__nvidia10="", dev__nvidiactl="")
    assert machine.gpus(root) == ["0", "1", "2"]  # CUDA's numbers, not those of the files
    for value, expected in (("2", ["2"]), ("2, 0", ["2", "0"]), ("0,-1,2", ["0"]), ("", [])):
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", value)
        assert machine.gpus(root) == expected
