"""The cores, free memory and GPUs that a process may use; in a container its limits."""

import os
from collections.abc import Iterator
from pathlib import Path

ROOT = Path("/")


def cores(root: Path = ROOT) -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        allowed = len(os.sched_getaffinity(0))
    else:
        allowed = os.cpu_count() or 1
    quotas = [quota for group in _control_groups(root, "cpu") for quota in _quota(group)]
    return max(1, min([allowed, *quotas]))


def thread_variables(threads: int) -> dict[str, str]:
    """The environment variables of a process whose TensorFlow may use so many threads."""
    return dict.fromkeys(("TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS"), str(threads))


def free_memory(root: Path = ROOT) -> int | None:
    """Bytes that can be allocated without swapping; None if unknown."""
    available = _entry(root / "proc" / "meminfo", "MemAvailable:")  # in kB
    limits = [] if available is None else [available * 1024]
    limits += [left for group in _control_groups(root, "memory") for left in _left(group)]
    return min(limits, default=None)


def gpus(root: Path = ROOT) -> list[str]:
    """The ids of the visible NVIDIA GPUs, found without loading TensorFlow."""
    names = [path.name.removeprefix("nvidia") for path in (root / "dev").glob("nvidia[0-9]*")]
    count = sum(map(str.isdecimal, names))
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is None or not count:
        # CUDA numbers those that are there from 0; in a container the device files may differ.
        return [str(number) for number in range(count)]
    listed = [name.strip() for name in visible.split(",")]
    return list(filter(None, listed[: listed.index("-1")] if "-1" in listed else listed))


def has_gpu(root: Path = ROOT) -> bool:
    """Whether there is a visible NVIDIA GPU."""
    return bool(gpus(root))


def process_seconds(root: Path = ROOT) -> float:
    """Seconds since this process was started; 0 where that is not known."""
    fields = _read(root / "proc" / "self" / "stat").rpartition(")")[2].split()
    up = _read(root / "proc" / "uptime").split()
    if len(fields) < 20 or not up:
        return 0.0
    return max(0.0, float(up[0]) - int(fields[19]) / os.sysconf("SC_CLK_TCK"))


def _control_groups(root: Path, controller: str) -> Iterator[Path]:
    """The folders of Linux' control groups (versions 1 and 2) that limit this process."""
    for line in _read(root / "proc" / "self" / "cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        base = root / "sys" / "fs" / "cgroup"
        if controllers:
            if controller not in controllers.split(","):
                continue
            base /= controller
        group = base / path.strip("/")
        yield group
        while group != base:
            group = group.parent
            yield group


def _quota(group: Path) -> Iterator[int]:
    """Whole cores that a group may use; yields nothing without a limit."""
    words = _read(group / "cpu.max").split()
    words = words or [_read(group / f"cpu.cfs_{name}_us").strip() for name in ("quota", "period")]
    if all(word.isdecimal() for word in words):  # else "max", -1, or no such file
        quota, period = map(int, words)
        yield quota // period


def _left(group: Path) -> Iterator[int]:
    """Bytes that a group may still allocate; file cache counts as free."""
    for limit, used, cached in (
        ("memory.max", "memory.current", "inactive_file"),
        ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
    ):
        numbers = [_read(group / name).strip() for name in (limit, used)]
        if all(number.isdecimal() for number in numbers):
            reclaimable = _entry(group / "memory.stat", cached) or 0
            yield max(0, int(numbers[0]) - int(numbers[1]) + reclaimable)


def _entry(path: Path, name: str) -> int | None:
    for line in _read(path).splitlines():
        if line.startswith(f"{name} "):
            return int(line.split()[1])
    return None


def _read(path: Path) -> str:
    try:
        return path.read_text("ascii", "replace")
    except OSError:
        return ""
