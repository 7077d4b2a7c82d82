"""OpenVINO on the CPU: a model of it, compiled and called. No TensorFlow."""

import contextlib
import functools
import io
import os
import threading
from pathlib import Path
from typing import Any

import numpy as np

# Precision of a product, and what OpenVINO calls it.
PRECISIONS = {"float32": "f32", "bfloat16": "bf16"}


class CompiledGraph:
    """Arrays by name → arrays by name. Batches of any size and length; one call at a time.

    Args:
        model: of OpenVINO, whose inputs and outputs have names.
        precision: a key of `PRECISIONS`.
    """

    def __init__(self, model: Any, precision: str):
        settings = {
            "INFERENCE_PRECISION_HINT": PRECISIONS[precision],
            "PERFORMANCE_HINT": "LATENCY",
            # A thread that takes denormal numbers as zero, as TensorFlow's do, takes small integers
            # as zero too where OpenVINO copies them as floating-point numbers.
            "CPU_DENORMALS_OPTIMIZATION": False,
        }
        threads = os.environ.get("TF_NUM_INTRAOP_THREADS", "")
        if threads.isdecimal() and int(threads):
            settings["INFERENCE_NUM_THREADS"] = threads
        self._request = core().compile_model(model, "CPU", settings).create_infer_request()
        # A request holds the arrays of one call.
        self._lock = threading.Lock()
        self.input_names = [_name(port) for port in model.inputs]
        self.output_names = [_name(port) for port in model.outputs]

    def __call__(self, inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """The outputs for one batch."""
        given = {place: inputs[name] for place, name in enumerate(self.input_names)}
        with self._lock:
            # In OpenVINO's threads, for which the settings hold, whoever calls.
            self._request.start_async(given, share_inputs=True)
            self._request.wait()
            return {
                name: self._request.get_output_tensor(place).data.copy()
                for place, name in enumerate(self.output_names)
            }


@functools.cache
def core() -> Any:
    """One for the process, for good: each would give the thread an alternate signal stack and take
    it away with itself, in any order, and the next signal that Python handles would end the
    process."""
    import openvino

    core = openvino.Core()
    # A memory map of a file that somebody cuts would end the process.
    core.set_property({"ENABLE_MMAP": False})
    return core


def in_8_bits(model: Any) -> Any:
    """OpenVINO's model with the weights of products and tables in 8 bits: asymmetric, a scale and a
    zero for each output channel of a product and each row of a table."""
    # NNCF would report its use over the network: it looks at this once, when it is imported.
    os.environ.setdefault("NNCF_CI", "1")
    # It prints its progress on standard output, where results go.
    with contextlib.redirect_stdout(io.StringIO()):
        import nncf

        return nncf.compress_weights(model, mode=nncf.CompressWeightsMode.INT8_ASYM)


def save(model: Any, file: Path) -> None:
    """Writes OpenVINO's model as `file` and one beside it with the weights, `.bin`."""
    import openvino

    # Else the weights would be rounded to float16.
    openvino.save_model(model, file, compress_to_fp16=False)


def _name(port: Any) -> str:
    return port.get_node().get_friendly_name()
