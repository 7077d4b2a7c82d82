"""Strategies of `tf.distribute` in one process never share keys of collective operations."""

import functools

import tensorflow as tf

# Above those of strategies that this library never sees.
_FIRST_GROUP = 10_000


def continue_collective_keys(strategy: tf.distribute.Strategy) -> None:
    """Makes a `MirroredStrategy` number its all-reduces from where the one before it stopped.

    By default each strategy begins with the same keys, and TensorFlow remembers the shape of each
    key until the process ends: a second strategy with other shapes would fail in its first step.
    Every other kind of strategy stays as it is.
    """
    sums = getattr(strategy.extended, "_collective_ops", None)
    for launcher in getattr(sums, "_launchers", ()):
        keys = _keys_of_process(type(launcher._collective_keys))
        launcher._group_key = keys.get_group_key(sums._devices)
        launcher._collective_keys = keys


@functools.cache
def _keys_of_process(kind: type):
    return kind(group_key_start=_FIRST_GROUP)
