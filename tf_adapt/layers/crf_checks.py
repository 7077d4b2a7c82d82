"""Checks of a CRF's arguments and inputs."""

import tensorflow as tf


def checked_matrix(constraints, num_tags: int) -> list[list[bool]]:
    """The constraints as nested lists of bool, after a check of their size."""
    size = num_tags + 2
    rows = [[bool(entry) for entry in row] for row in constraints]
    if [len(row) for row in rows] != [size] * size:
        raise ValueError(
            f"constraints: expected {size} rows of {size}, for {num_tags} tags, the start and the "
            f"end, got {len(rows)} rows of {', '.join(map(str, sorted({*map(len, rows)})))}"
        )
    return rows


def check_shape(what: str, tensor, expected) -> None:
    """Raises ValueError if the static shape is not the expected one."""
    if not tensor.shape.is_compatible_with(expected):
        raise ValueError(f"CRF: {what}: expected shape {tuple(expected)}, got {tensor.shape}")


def checked_values(values, condition, expected: str):
    """The values, after a check that the condition holds everywhere.

    Raises:
        ValueError: eagerly.
        tf.errors.InvalidArgumentError: in a graph, when it runs; nothing under XLA.
    """
    is_met, message = tf.reduce_all(condition), f"CRF: {expected}, got"
    if tf.executing_eagerly():
        if not is_met:
            raise ValueError(f"{message} {values.numpy().tolist()}")
        return values
    # Checked first: later operations may fail with a less helpful message.
    with tf.control_dependencies([tf.debugging.Assert(is_met, [message, values], summarize=100)]):
        return tf.identity(values)
