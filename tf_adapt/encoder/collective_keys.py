"""Several strategies of `tf.distribute` in one process: no two sums over devices have one key."""

import functools

import tensorflow as tf

# Above those of strategies that this library never sees.
_FIRST_GROUP = 10_000


def continue_collective_keys(strategy: tf.distribute.Strategy) -> None:
    """Makes a `MirroredStrategy` number its sums where the one before it stopped.

    Each begins with the same numbers, under which TensorFlow keeps the shapes until the process
    ends: where the shapes of a second strategy are others, its first step fails. Every other kind
    of strategy stays as it is.
    """
    sums = getattr(strategy.extended, "_collective_ops", None)
    for launcher in getattr(sums, "_launchers", ()):
        keys = _keys_of_process(type(launcher._collective_keys))
        launcher._group_key = keys.get_group_key(sums._devices)
        launcher._collective_keys = keys


@functools.cache
def _keys_of_process(kind: type):
    return kind(group_key_start=_FIRST_GROUP)
