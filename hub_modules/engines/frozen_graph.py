"""A TensorFlow function with its weights as constants, in float32: what OpenVINO can read."""

import tensorflow as tf
from google.protobuf.message import Message
from tensorflow.core.framework.types_pb2 import DT_BFLOAT16, DT_FLOAT
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2


def frozen(function) -> tuple[tf.compat.v1.GraphDef, list[str]]:
    """The graph of a concrete function without variables, and the names of its output tensors.

    The outputs are in the order of the flat outputs of the function. Loops stay loops.
    """
    for name in function.graph.get_all_collection_keys():
        # TensorFlow warns of what it cannot convert of them, and nothing of it is read.
        function.graph.clear_collection(name)
    without_variables = convert_variables_to_constants_v2(function, lower_control_flow=False)
    graph = without_variables.graph.as_graph_def()
    return graph, [tensor.name for tensor in without_variables.outputs]


def in_float32(graph: tf.compat.v1.GraphDef) -> None:
    """Turns bfloat16 into float32 everywhere in a graph: OpenVINO reads no constants in it.

    Constants keep their values. In which precision the products are then computed is said to
    OpenVINO.
    """
    for node in _nodes(graph):
        for attribute in node.attr.values():
            kind = attribute.WhichOneof("value")
            if kind == "type" and attribute.type == DT_BFLOAT16:
                attribute.type = DT_FLOAT
            elif kind == "tensor" and attribute.tensor.dtype == DT_BFLOAT16:
                values = tf.make_ndarray(attribute.tensor).astype("float32")
                attribute.tensor.CopyFrom(tf.make_tensor_proto(values))


def _nodes(graph: tf.compat.v1.GraphDef) -> list[Message]:
    return [
        *graph.node,
        *(node for function in graph.library.function for node in function.node_def),
    ]
