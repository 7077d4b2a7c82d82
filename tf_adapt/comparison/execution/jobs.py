"""How many training processes of a comparison run in parallel."""

import os
import platform

from hub_modules.storage.machine import cores, free_memory, has_gpu

MEMORY_PER_PROCESS = 3_000_000_000  # bytes, estimated for a training process


def jobs_at_once(cells: int, threads: int) -> int:
    """The default number of parallel processes, at least one.

    The minimum over the number of cells, cores / threads, and free memory. One with a GPU, since
    the first TensorFlow process takes all of its memory.

    Args:
        cells: the number of cells with unfinished runs; the runs of a cell share a process.
        threads: of each process.
    """
    if has_gpu():
        return 1
    memory = free_memory()
    limits = [cells, cores() // threads]
    limits += [] if memory is None else [memory // MEMORY_PER_PROCESS]
    return max(1, min(limits))


def machine_in_words(threads: int) -> str:
    """The machine, and the threads of a run, for the report."""
    machine = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"
    return f"{machine}, {threads} thread{'s' * (threads > 1)} a run"
