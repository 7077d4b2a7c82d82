"""A TensorFlow function, computed by OpenVINO on the CPU."""

import contextlib
import functools
import io
import os
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from hub_modules.engines.frozen_graph import frozen, in_float32
from hub_modules.engines.graph_cache import FILES, read_or_make
from hub_modules.engines.names import OPENVINO, OPENVINO_INT8, check_engine, package_versions
from hub_modules.errors import ConfigError

# The version of the conversion: raised with each change of the graphs, so that no old one is read.
_VERSION = 1
_PRECISIONS = {"float32": "f32", "bfloat16": "bf16"}


class OpenVinoGraph:
    """Arrays by name → arrays by name, as a concrete TensorFlow function computes them.

    The function's weights are those at the time of the conversion. Batches of any size and length
    need no second conversion. In float32 the results are TensorFlow's up to rounding. What the
    function computes in bfloat16 has products in bfloat16 here too, where the processor has them,
    and float32 results. With weights in 8 bits (asymmetric, a scale and a zero for each output
    channel of a product and each row of a table) the results are near those only, and OpenVINO may
    round the factors of products to 8 bits too.

    Args:
        what: the function's name in messages.
        key: plain values, everything that it depends on, for the cache; without versions.
        function: () → the concrete function, from a dict of tensors to one. It is called only if
            the cache does not have the graph.
        precision: "float32" or "bfloat16", in which the function computes.
        engine: "openvino", or "openvino_int8" for weights in 8 bits.

    Raises:
        ConfigError: a package is missing, OpenVINO cannot convert the function, or the precision is
            another.
    """

    def __init__(
        self,
        what: str,
        key: dict[str, Any],
        function: Callable,
        precision: str,
        engine: str = OPENVINO,
    ):
        check_engine(engine)
        if precision not in _PRECISIONS:
            raise ConfigError(
                f"engine {engine}: {what}: expected float32 or bfloat16, got {precision}; choose "
                "one of them, or the engine tensorflow"
            )

        def make():
            model = _converted(what, function(), engine)
            return _in_8_bits(model) if engine == OPENVINO_INT8 else model

        core = _core()
        versions = {"tensorflow": tf.__version__} | package_versions(engine)
        model = read_or_make(
            {"graph": key, "precision": precision, "conversion": _VERSION} | versions,
            lambda folder: core.read_model(folder / FILES[0], folder / FILES[1]),
            make,
            _save,
        )
        settings = {
            "INFERENCE_PRECISION_HINT": _PRECISIONS[precision],
            "PERFORMANCE_HINT": "LATENCY",
        }
        threads = os.environ.get("TF_NUM_INTRAOP_THREADS", "")
        if threads.isdecimal() and int(threads):
            settings["INFERENCE_NUM_THREADS"] = threads
        self._request = core.compile_model(model, "CPU", settings).create_infer_request()
        # A request holds the arrays of one call.
        self._lock = threading.Lock()
        self.input_names = [_name(port) for port in model.inputs]
        self.output_names = [_name(port) for port in model.outputs]

    def __call__(self, inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """The outputs for one batch."""
        given = {place: inputs[name] for place, name in enumerate(self.input_names)}
        with self._lock:
            self._request.infer(given, share_inputs=True)
            return {
                name: self._request.get_output_tensor(place).data.copy()
                for place, name in enumerate(self.output_names)
            }


@functools.cache
def _core() -> Any:
    """One for the process, for good: each would give the thread an alternate signal stack and take
    it away with itself, in any order, and the next signal that Python handles would end the
    process."""
    import openvino

    core = openvino.Core()
    # A memory map of a file that somebody cuts would end the process.
    core.set_property({"ENABLE_MMAP": False})
    return core


def _in_8_bits(model: Any) -> Any:
    """OpenVINO's model with the weights of products and tables in 8 bits."""
    # NNCF would report its use over the network: it looks at this once, when it is imported.
    os.environ.setdefault("NNCF_CI", "1")
    # It prints its progress on standard output, where results go.
    with contextlib.redirect_stdout(io.StringIO()):
        import nncf

        return nncf.compress_weights(model, mode=nncf.CompressWeightsMode.INT8_ASYM)


def _converted(what: str, function: Any, engine: str) -> Any:
    """The function as OpenVINO's model, whose inputs and outputs have the function's names."""
    arguments, _ = function.structured_input_signature
    inputs, outputs = sorted(arguments[0]), sorted(function.structured_outputs)
    placeholders = [tensor.name.split(":")[0] for tensor in function.inputs]
    graph, tensors = frozen(function)
    in_float32(graph)
    with tempfile.TemporaryDirectory(prefix="tf_adapt_openvino_") as folder:
        # OpenVINO reads a frozen graph only from a file. Not with `openvino.convert_model`, which
        # reports its use over the network.
        file = Path(folder) / "graph.pb"
        file.write_bytes(graph.SerializeToString())
        try:
            model = _core().read_model(file)
        # Its errors have no type of their own.
        except Exception as error:
            lines = [line for line in str(error).splitlines() if line.startswith("-- ")]
            problem = " ".join(" ".join(lines or [str(error)]).split())[:200]
            raise ConfigError(
                f"engine {engine}: expected {what} as a graph that OpenVINO converts, got one that "
                f"it does not ({problem}); choose the engine tensorflow"
            ) from error
    # A tensor may have several names, a node of a graph has one.
    # What the function does not read is no input here.
    for name, placeholder in zip(inputs, placeholders, strict=False):
        for port in model.inputs:
            if placeholder in {tensor_name.split(":")[0] for tensor_name in port.get_names()}:
                port.get_node().set_friendly_name(name)
    for name, tensor in zip(outputs, tensors, strict=True):
        model.output(tensor).get_node().set_friendly_name(name)
    return model


def _save(model: Any, folder: Path) -> None:
    import openvino

    # Else the weights would be rounded to float16.
    openvino.save_model(model, folder / FILES[0], compress_to_fp16=False)


def _name(port: Any) -> str:
    return port.get_node().get_friendly_name()
