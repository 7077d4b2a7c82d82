"""A pytest plugin: how long tests take, and how much memory their processes.

Files of tests begin with the longest, by `tests/durations.json`, so that two processes end at about
the same time. `--durations-to FILE` writes the seconds and the MB of each test. Every run ends with
the ten slowest files and the peak of each process.
"""

import json
from collections import defaultdict
from pathlib import Path

import pytest

KNOWN = Path(__file__).resolve().parents[1] / "durations.json"
_MEMORY = "memory"
_seconds: dict[str, float] = defaultdict(float)
_memory: dict[str, dict] = {}


def pytest_addoption(parser):
    parser.addoption("--durations-to", type=Path, help="write the seconds and MB of each test")


def pytest_collection_modifyitems(config, items):
    """The longest files first; a file that is not known yet before all others."""
    if config.pluginmanager.hasplugin("randomly") or not KNOWN.exists():
        return
    seconds = seconds_of_files()
    items.sort(key=lambda item: -seconds.get(_file(item.nodeid), float("inf")))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """What a process has is known in it alone: the report takes it along."""
    report = yield
    if report.when == "teardown":
        worker = getattr(item.config, "workerinput", {}).get("workerid", "only")
        report.user_properties.append((_MEMORY, {"process": worker, **_resident()}))
    return report


def pytest_runtest_logreport(report):
    _seconds[report.nodeid] += report.duration
    for key, value in report.user_properties:
        if key == _MEMORY:
            _memory[report.nodeid] = value


def pytest_terminal_summary(terminalreporter, config):
    files: dict[str, float] = defaultdict(float)
    for name, taken in _seconds.items():
        files[_file(name)] += taken
    terminalreporter.section("slowest files")
    for name in sorted(files, key=files.get, reverse=True)[:10]:
        terminalreporter.write_line(f"{files[name]:7.1f}s {name}")
    for process in sorted({one["process"] for one in _memory.values()}):
        peak = max(one["peak"] for one in _memory.values() if one["process"] == process)
        terminalreporter.write_line(f"peak memory of process {process}: {peak} MB")
    if config.option.durations_to:
        rows = {one: [round(_seconds[one], 2), _memory[one]["resident"]] for one in _memory}
        config.option.durations_to.write_text(as_written(rows), "utf-8")


def seconds_of_files() -> dict[str, float]:
    """Of each file of tests that is known."""
    seconds: dict[str, float] = defaultdict(float)
    for name, (taken, _) in json.loads(KNOWN.read_text("utf-8")).items():
        seconds[_file(name)] += taken
    return dict(seconds)


def as_written(rows: dict[str, list]) -> str:
    """Seconds and MB of tests as JSON, a test a line."""
    lines = (f"{json.dumps(name)}: {json.dumps(rows[name])}" for name in sorted(rows))
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _file(name: str) -> str:
    return name.split("::")[0]


def _resident() -> dict[str, int]:
    """MB now, and the most so far; 0 where the system does not say."""
    status = Path("/proc/self/status")
    lines = status.read_text("utf-8").splitlines() if status.exists() else []
    kilobytes = {line.split(":")[0]: line.split()[1] for line in lines if line.startswith("Vm")}
    names = {"resident": "VmRSS", "peak": "VmHWM"}
    return {name: int(kilobytes.get(key, 0)) // 1024 for name, key in names.items()}
