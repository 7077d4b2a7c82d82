"""A layer in inference mode as one `tf.function`, for passes over many texts."""

from collections.abc import Callable

import keras
import tensorflow as tf

from hub_modules.native.kernels.half_kernels import given_kernels, half_kernels


class InferenceGraph:
    """A function that calls a layer, as a graph that is traced once for all data.

    In half precision the kernels are cast once per pass instead of in each call: see
    `hub_modules.native.kernels.half_kernels`.

    Args:
        layer: the layer that the function calls.
        function: tensors → tensors, in inference mode.
    """

    def __init__(self, layer: keras.layers.Layer, function: Callable):
        self._layer = layer

        def call(kernels, *inputs, engines=()):
            with given_kernels(layer, kernels):
                return function(*inputs)

        # Without AutoGraph, which would translate all of Keras for nothing.
        self._graph = tf.function(call, autograph=False, reduce_retracing=True)

    def for_pass(self, *specs) -> Callable:
        """The function for one pass over texts, with the current weights, in the engines that the
        encoders inside have now.

        Args:
            specs: of the inputs, for texts of any length; without them each new shape may trace a
                graph.
        """
        engines = tuple(
            part.ready_engine()
            for part in self._layer._flatten_layers()
            if hasattr(part, "ready_engine")
        )
        kernels = half_kernels(self._layer)
        graph: Callable = self._graph
        if specs:
            # Called itself: a `tf.function` compares each call with every shape it has seen.
            graph = self._graph.get_concrete_function(kernels, *specs, engines=engines)
        return lambda *inputs: graph(kernels, *inputs, engines=engines)
