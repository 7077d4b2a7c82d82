"""Peak memory of a run: of its process, and of the GPUs if there are any."""

import contextlib
import resource
import sys

import tensorflow as tf


def peak_memory() -> dict[str, float]:
    """`peak_memory_mb` of this process; with GPUs `peak_gpu_memory_mb`, the largest of them."""
    memory = {"peak_memory_mb": round(_peak_bytes() / 1e6, 1)}
    gpus = len(tf.config.list_logical_devices("GPU"))
    if gpus:
        peaks = [tf.config.experimental.get_memory_info(f"GPU:{i}")["peak"] for i in range(gpus)]
        memory["peak_gpu_memory_mb"] = round(max(peaks) / 1e6, 1)
    return memory


def forget_peak() -> None:
    """Resets the peak to the memory in use, where the system can do that (Linux, GPUs).

    Elsewhere the peak stays that of the largest run so far. Starts TensorFlow's devices.
    """
    for number in range(len(tf.config.list_logical_devices("GPU"))):
        tf.config.experimental.reset_memory_stats(f"GPU:{number}")
    with contextlib.suppress(OSError), open("/proc/self/clear_refs", "w") as file:
        file.write("5")


def _peak_bytes() -> int:
    # Not getrusage, whose peak includes that of the program that started this one, such as a large
    # notebook.
    try:
        with open("/proc/self/status", encoding="ascii", errors="replace") as file:
            return next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmHWM"))
    except (OSError, StopIteration):
        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
