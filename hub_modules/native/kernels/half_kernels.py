"""Half-precision kernels, cast once for many inference calls instead of in each call.

They are arguments of the graphs that use them and are cast anew for each pass over texts, so that
they cannot be out of date after a change of the weights.
"""

import contextlib
from collections.abc import Iterator, Sequence

import keras
import tensorflow as tf


def half_layers(layer: keras.layers.Layer) -> list[keras.layers.Dense]:
    """The Dense layers whose compute dtype differs from their variables' dtype."""
    return [
        part
        for part in layer._flatten_layers()
        if isinstance(part, keras.layers.Dense) and part.compute_dtype != part.variable_dtype
    ]


def half_kernels(layer: keras.layers.Layer) -> list[tf.Tensor]:
    """The kernels of `half_layers` in the compute dtype; none in float32."""
    return [tf.cast(dense.kernel.value, dense.compute_dtype) for dense in half_layers(layer)]


@contextlib.contextmanager
def given_kernels(layer: keras.layers.Layer, kernels: Sequence[tf.Tensor]) -> Iterator[None]:
    """Calls inside use `kernels`, from `half_kernels`, in place of the weights: the same results.

    Without kernels nothing changes.
    """
    weights = [dense.kernel for dense in half_layers(layer)] if kernels else []
    with given_values(list(zip(weights, kernels, strict=True))):
        yield


@contextlib.contextmanager
def given_values(pairs: Sequence[tuple[keras.Variable, tf.Tensor]]) -> Iterator[None]:
    """Layers called inside read the second of each pair in place of the first."""
    if not pairs:
        yield
        return
    with keras.StatelessScope() as scope:
        for weight, value in pairs:
            # Not an argument of the scope's constructor, which would cast it back.
            scope.add_update((weight, value))
        yield
