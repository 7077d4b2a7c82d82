"""Gradients written by hand whose graphs can be freed.

TensorFlow enters the gradient of each `tf.custom_gradient` in a graph into a registry that lives as
long as the process. The entry holds the tensors that the gradient reads, these hold the graph, and
the graph holds every weight of its model. Here the graph owns the gradient, and the registry only
refers to it.
"""

import functools
import threading
import weakref
from collections.abc import Callable, Iterator

import tensorflow as tf
from tensorflow.python.framework import ops
from tensorflow.python.saved_model import function_deserialization

from hub_modules.native.untracked import Untracked

_loading = threading.Lock()


def custom_gradient(function: Callable) -> Callable:
    """`tf.custom_gradient`, but what a graph needs for its gradient is freed with the graph.

    Args:
        function: tensors → results and a function of their gradients, as for `tf.custom_gradient`.
    """
    decorated = tf.custom_gradient(function)

    @tf.autograph.experimental.do_not_convert
    @functools.wraps(function)
    def with_gradient(*inputs):
        results = decorated(*inputs)
        first = tf.nest.flatten(results)[0]
        if tf.is_symbolic_tensor(first):
            _give(first.graph, [_gradient_name(first.op)])
        return results

    return with_gradient


@tf.autograph.experimental.do_not_convert
def own_gradients() -> None:
    """As `custom_gradient`, for what other code has called in the graph that is being traced.

    Keras' optimizers sum gradients over replicas with a `tf.custom_gradient`.
    """
    if not tf.executing_eagerly():
        for graph in _with_branches(tf.compat.v1.get_default_graph()):
            names = [_gradient_name(operation) for operation in graph.get_operations()]
            _give(graph, [name for name in names if name])


def loaded_with_gradients(load: Callable):
    """The SavedModel that `load()` returns; the gradients in it are freed with it."""
    registered = ops.gradient_registry._registry
    with _loading:
        before = set(registered)
        loaded = load()
        # Another thread may trace a graph meanwhile.
        new = [name for name in set(registered) - before if _is_loaded(registered[name]["type"])]
        _give(loaded, new)
    return loaded


def _is_loaded(gradient: Callable) -> bool:
    """Whether TensorFlow's loader of SavedModels has made it."""
    return gradient.__module__ == function_deserialization.__name__


def _with_branches(graph: tf.Graph) -> Iterator[tf.Graph]:
    yield graph
    for function in graph._functions.values():
        if hasattr(function, "graph"):
            yield function.graph


def _gradient_name(operation: tf.Operation) -> str:
    """The name that its own gradient is registered as; empty: it has none."""
    if operation.type != "IdentityN":
        return ""
    return operation.node_def.attr["_gradient_op_type"].s.decode()


def _give(owner, names) -> None:
    """Moves the gradients registered as `names` into `owner`; it forms a cycle with them, which the
    garbage collector finds when nobody else holds the owner."""
    registered = ops.gradient_registry._registry
    if not hasattr(owner, "_own_gradients"):
        owner._own_gradients = Untracked({})
    gradients = owner._own_gradients.value
    for name in registered.keys() & set(names) - gradients.keys():
        gradients[name] = registered[name]["type"]
        registered[name]["type"] = _referring_to(gradients[name])
        weakref.finalize(owner, registered.pop, name, None).atexit = False


def _referring_to(gradient: Callable) -> Callable:
    reference = weakref.ref(gradient)
    return lambda operation, *upstream: reference()(operation, *upstream)
