"""What a comparison may use of this machine: cores, free memory, GPUs; in a container its share."""

import os
from collections.abc import Iterator
from pathlib import Path

MEMORY_PER_PROCESS = 3_000_000_000  # bytes that a process at work is reckoned with
ROOT = Path("/")


def jobs_at_once(cells: int, threads: int) -> int:
    """How many processes work side by side, at least one, where nobody says it.

    As many as there are cells to run, cores for their threads, and memory. One where there is a
    GPU, all of whose memory TensorFlow gives to the first process.

    Args:
        cells: that are still to run; the runs of a cell share a process.
        threads: of each process.
    """
    if has_gpu():
        return 1
    memory = free_memory()
    limits = [cells, cores() // threads]
    limits += [] if memory is None else [memory // MEMORY_PER_PROCESS]
    return max(1, min(limits))


def cores(root: Path = ROOT) -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        allowed = len(os.sched_getaffinity(0))
    else:
        allowed = os.cpu_count() or 1
    quotas = [quota for group in _control_groups(root, "cpu") for quota in _quota(group)]
    return max(1, min([allowed, *quotas]))


def free_memory(root: Path = ROOT) -> int | None:
    """Bytes that can still be taken without swapping; None where the system does not say."""
    available = _entry(root / "proc" / "meminfo", "MemAvailable:")  # in kB
    found = [] if available is None else [available * 1024]
    found += [left for group in _control_groups(root, "memory") for left in _left(group)]
    return min(found, default=None)


def has_gpu(root: Path = ROOT) -> bool:
    """Whether an NVIDIA GPU is there and not hidden, without loading what could use it."""
    hidden = os.environ.get("CUDA_VISIBLE_DEVICES", "0").strip() in ("", "-1")
    return not hidden and any((root / "dev").glob("nvidia[0-9]*"))


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
    """Whole cores that a group may use; nothing where there is no limit."""
    words = _read(group / "cpu.max").split()
    words = words or [_read(group / f"cpu.cfs_{name}_us").strip() for name in ("quota", "period")]
    if all(word.isdecimal() for word in words):  # else "max", -1, or no such file
        quota, period = map(int, words)
        yield quota // period


def _left(group: Path) -> Iterator[int]:
    """Bytes that a group may still take: files that were read can make room."""
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
