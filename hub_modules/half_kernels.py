"""Kernels in half precision, cast once for many calls in inference mode instead of in each.

They are arguments of the graphs that read them, taken anew for each pass over texts: nothing is
kept that the weights could have left behind.
"""

import contextlib
from collections.abc import Iterator, Sequence

import keras
import tensorflow as tf


def half_layers(layer: keras.layers.Layer) -> list[keras.layers.Dense]:
    """The Dense layers that compute in another precision than they are stored in."""
    return [
        part
        for part in layer._flatten_layers()
        if isinstance(part, keras.layers.Dense) and part.compute_dtype != part.variable_dtype
    ]


def half_kernels(layer: keras.layers.Layer) -> list[tf.Tensor]:
    """The kernels of `half_layers` in the precision of the computation: none in float32."""
    return [tf.cast(dense.kernel.value, dense.compute_dtype) for dense in half_layers(layer)]


@contextlib.contextmanager
def given_kernels(layer: keras.layers.Layer, kernels: Sequence[tf.Tensor]) -> Iterator[None]:
    """Calls inside read `kernels`, of `half_kernels`, in place of the weights: the same numbers.

    With no kernels nothing changes.
    """
    if not kernels:
        yield
        return
    with keras.StatelessScope() as scope:
        for dense, kernel in zip(half_layers(layer), kernels, strict=True):
            # Not given to the scope's constructor, which would cast it back.
            scope.add_update((dense.kernel, kernel))
        yield
