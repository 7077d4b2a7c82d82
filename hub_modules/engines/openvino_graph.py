"""A TensorFlow function, computed by OpenVINO on the CPU."""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import tensorflow as tf

from hub_modules.engines.compiled_graph import (
    PRECISIONS,
    CompiledGraph,
    core,
    in_8_bits,
    save,
)
from hub_modules.engines.frozen_graph import frozen, in_float32
from hub_modules.engines.graph_cache import FILES, read_or_make
from hub_modules.engines.names import OPENVINO, OPENVINO_INT8, check_engine, package_versions
from hub_modules.errors import ConfigError

# The version of the conversion: raised with each change of the graphs, so that no old one is read.
_VERSION = 2


class OpenVinoGraph(CompiledGraph):
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
        if precision not in PRECISIONS:
            raise ConfigError(
                f"engine {engine}: {what}: expected float32 or bfloat16, got {precision}; choose "
                "one of them, or the engine tensorflow"
            )

        def make():
            model = converted(what, function(), engine)
            return in_8_bits(model) if engine == OPENVINO_INT8 else model

        versions = {"tensorflow": tf.__version__} | package_versions(engine)
        model = read_or_make(
            {"graph": key, "precision": precision, "conversion": _VERSION} | versions,
            lambda folder: core().read_model(folder / FILES[0], folder / FILES[1]),
            make,
            lambda model, folder: save(model, folder / FILES[0]),
        )
        super().__init__(model, precision)


def converted(what: str, function: Any, engine: str = OPENVINO) -> Any:
    """The function as OpenVINO's model, whose inputs and outputs have the function's names.

    Raises:
        ConfigError: OpenVINO cannot convert it.
    """
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
            model = core().read_model(file)
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
