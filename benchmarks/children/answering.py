"""What every child does: read a request, do the work, say how long it took.

A request is one JSON object a line on stdin: `job` (what to do), `turn` (None: a warm-up), `calls`
(timed calls), `outputs` (where to write what came out, or None). The answer is one JSON object a
line on stdout: `seconds` of each call, `peak_mb` (the most memory that the process held during
them), `amount`, `note`, `versions`, and `outputs`, the path that was written, or None. What is made
for a job is kept for the next request with the same job.
"""

import importlib.metadata
import json
import os
import resource
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

PACKAGES = (
    "tensorflow",
    "keras",
    "openvino",
    "torch",
    "transformers",
    "sentence_transformers",
    "optimum",
    "tokenizers",
    "keras_hub",
    "tensorflow_hub",
    "tensorflow_addons",
    "torchcrf",
    "accelerate",
    "datasets",
)
_DISTRIBUTIONS = {"torchcrf": "pytorch-crf", "optimum": "optimum-intel"}


@dataclass
class Work:
    """What is made for a job.

    Args:
        run: does the work once and waits for its end; takes the number of the turn, None for a
            warm-up.
        outputs: result of `run` → {name: array}, what is compared.
        amount: how much work `run` is, in the measurement's unit.
        note: result of `run` → what the page should say of it.
        scale: what its time is multiplied by, where it does a part of work whose parts are alike.
    """

    run: Callable[[int | None], Any]
    outputs: Callable[[Any], dict[str, np.ndarray]]
    amount: int | None = None
    note: Callable[[Any], str] | None = None
    scale: float = 1.0


def answer(prepared: Callable[[dict], Work]) -> None:
    """Answers requests until stdin ends; `prepared` makes the work of a job."""
    # Libraries print; what goes to the parent has a descriptor of its own.
    channel = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    works: dict[str, Work] = {}
    for line in sys.stdin:
        request = json.loads(line)
        key = json.dumps(request["job"], sort_keys=True)
        if key not in works:
            works[key] = prepared(request["job"])
        print(json.dumps(_answer(works[key], request)), file=channel, flush=True)


def _answer(work: Work, request: dict) -> dict[str, Any]:
    seconds = []
    _forget_peak()
    clock = time.process_time if os.environ.get("TF_ADAPT_BUSY_MACHINE") else time.perf_counter
    for _ in range(request["calls"]):
        started = clock()
        result = work.run(request["turn"])
        seconds.append(work.scale * (clock() - started))
    peak = _peak_mb()
    if request["outputs"] is not None:
        np.savez(request["outputs"], **work.outputs(result))
    return {
        "seconds": seconds,
        "peak_mb": peak,
        "amount": work.amount,
        "note": work.note(result) if work.note else "",
        "versions": _versions(),
        "outputs": request["outputs"],
    }


def _forget_peak() -> None:
    """Lets the peak begin at what is held now, where the system can do that (Linux)."""
    try:
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
    except OSError:
        pass


def _peak_mb() -> float:
    # Not that of getrusage, which begins with the parent's before it became this program.
    try:
        with open("/proc/self/status") as file:
            peak = next(line for line in file if line.startswith("VmHWM"))
        return int(peak.split()[1]) * 1024 / 1e6
    except OSError:
        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6


def _versions() -> dict[str, str]:
    loaded = [name for name in PACKAGES if name in sys.modules]
    found = {_DISTRIBUTIONS.get(name, name): "" for name in loaded}
    python = ".".join(map(str, sys.version_info[:3]))
    versions = {name: importlib.metadata.version(name) for name in found}
    return {"python": python} | versions | _gpu()


def _gpu() -> dict[str, str]:
    """The name of the GPU that the child sees; nothing where it sees none."""
    if (torch := sys.modules.get("torch")) and torch.cuda.is_available():
        return {"GPU": torch.cuda.get_device_name()}
    if tf := sys.modules.get("tensorflow"):
        for gpu in tf.config.list_physical_devices("GPU"):
            return {"GPU": tf.config.experimental.get_device_details(gpu)["device_name"]}
    return {}
