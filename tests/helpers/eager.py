"""TensorFlow without graphs, where tracing a graph takes longer than its few steps."""

import contextlib
from collections.abc import Iterator

import tensorflow as tf


@contextlib.contextmanager
def without_graphs(without: bool = True) -> Iterator[None]:
    """Functions run eagerly, those of `tf.data` excepted; with False as usual."""
    tf.config.run_functions_eagerly(without)
    try:
        yield
    finally:
        tf.config.run_functions_eagerly(False)
