"""How many training processes of a comparison run in parallel on this machine, and on which GPU."""

from collections.abc import Iterable, Sequence

from hub_modules.storage.machine import cores, free_memory
from tf_adapt.errors import ConfigError

MEMORY_PER_PROCESS = 3_000_000_000  # bytes, estimated for a training process


def jobs_at_once(cells: int, threads: int, most: int | None = None) -> int:
    """The default number of parallel processes, at least one.

    The minimum over the number of cells, cores / threads, free memory, and `most`.

    Args:
        cells: the number of cells with unfinished runs; the runs of a cell share a process.
        threads: of each process.
        most: processes for which there are GPUs; None: there are none.
    """
    memory = free_memory()
    limits = [cells, cores() // threads]
    limits += [] if memory is None else [memory // MEMORY_PER_PROCESS]
    limits += [] if most is None else [most]
    return max(1, min(limits))


def default_gpus_per_run(devices: Iterable[str | None], visible: int) -> int:
    """The GPUs that each run sees where none are asked for: the most that a run trains on.

    Args:
        devices: `training.devices` of the runs.
        visible: the number of GPUs, at least one; a run that wants more refuses it itself.
    """
    if "all" in devices:
        return visible
    return min(visible, gpus_wanted(devices) or 1)


def gpus_wanted(devices: Iterable[str | None]) -> int | None:
    """The most GPUs that a run asks for by number; None: none does."""
    asked = [name.removeprefix("gpu:") for name in devices if name and name.startswith("gpu:")]
    return max(map(int, asked), default=None)


def shares(gpus: Sequence[str], jobs: int | None, gpus_per_run: float) -> list[str]:
    """The `CUDA_VISIBLE_DEVICES` of each process that there can be at a time.

    TensorFlow takes the memory of every GPU that it sees, so that each process sees its own.

    Args:
        gpus: the ids of the GPUs, at least one.
        gpus_per_run: a whole number; or a fraction, with which ⌊1 / fraction⌋ processes share one.

    Raises:
        ConfigError: there are fewer of them than `jobs`.
    """
    if gpus_per_run < 1:
        found = list(gpus) * int(1 / gpus_per_run)
    else:
        size = int(gpus_per_run)
        found = [",".join(gpus[at : at + size]) for at in range(0, len(gpus) - size + 1, size)]
    if len(found) < (jobs or 1):
        raise ConfigError(
            f"--jobs: expected at most {len(found)} with {len(gpus)} visible GPU"
            f"{'s' * (len(gpus) > 1)} and --gpus-per-run {gpus_per_run:g}, got {jobs or 1}; let "
            f"runs share a GPU (--gpus-per-run 0.5), or hide the GPUs (CUDA_VISIBLE_DEVICES=)"
        )
    return found
