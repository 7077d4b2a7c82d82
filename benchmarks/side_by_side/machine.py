"""What the numbers were measured on."""

import os
import platform
import re
from pathlib import Path
from typing import Any

from benchmarks.side_by_side.environments import BUSY, THREADS

# Instructions that decide how fast products of matrices are.
_INSTRUCTIONS = ("avx2", "avx512f", "avx512_bf16", "amx_bf16")


def processor() -> str:
    """The processor's name as the page's column has it, with AMX where it has that."""
    model, flags = _processor()
    name = re.sub(r"\((R|TM)\)|\bProcessor\b", "", model)
    amx = " with AMX" if "amx_bf16" in flags else ""
    return " ".join(name.split()) + amx


def machine(binding: str, load: float, measurements: list[dict[str, Any]]) -> str:
    """One sentence: processor, cores, memory, threads, other load, versions.

    Args:
        binding: what `use_two_cores` said.
        load: jobs that wanted a core in the minute before the first measurement.
        measurements: of which contestants say their versions.
    """
    model, flags = _processor()
    known = [name for name in _INSTRUCTIONS if name in flags]
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return (
        f"{model} ({', '.join(known) or 'instructions unknown'}), {os.cpu_count()} cores, "
        f"{memory:.0f} GiB, {platform.system()} {platform.release()}; {_threads()}, "
        f"{binding}; load before: {load:.1f}; {_versions(measurements)}"
    )


def _threads() -> str:
    if BUSY:
        return f"{THREADS} thread, the processor's time: other work ran on the machine"
    return f"{THREADS} threads"


def _processor() -> tuple[str, set[str]]:
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return platform.processor() or platform.machine(), set()
    fields = dict(line.split(":", 1) for line in text.splitlines() if ":" in line)
    values = {name.strip(): value.strip() for name, value in fields.items()}
    return values.get("model name", platform.machine()), set(values.get("flags", "").split())


def _versions(measurements: list[dict[str, Any]]) -> str:
    """Each set of versions once, with the names of who has it."""
    found: dict[str, list[str]] = {}
    for measurement in measurements:
        for one in measurement["contestants"]:
            text = ", ".join(f"{name} {version}" for name, version in one["versions"].items())
            if text and one["name"] not in found.setdefault(text, []):
                found[text].append(one["name"])
    return "; ".join(f"{' / '.join(names)}: {text}" for text, names in found.items())
