"""What a CRF refuses, before it computes anything."""

import tensorflow as tf


def checked_matrix(constraints, num_tags: int) -> list[list[bool]]:
    """The constraints as nested lists of bool, if they are a matrix of the right size."""
    size = num_tags + 2
    rows = [[bool(entry) for entry in row] for row in constraints]
    if [len(row) for row in rows] != [size] * size:
        raise ValueError(
            f"constraints: expected {size} rows of {size}, for {num_tags} tags, the start and the "
            f"end, got {len(rows)} rows of {', '.join(map(str, sorted({*map(len, rows)})))}"
        )
    return rows


def check_shape(what: str, tensor, expected) -> None:
    """Raises ValueError where the known sizes are not the expected ones."""
    if not tensor.shape.is_compatible_with(expected):
        raise ValueError(f"CRF: {what}: expected shape {tuple(expected)}, got {tensor.shape}")


def checked_values(values, condition, expected: str):
    """The values, if the condition holds everywhere; otherwise an error that says what is expected.

    Raises:
        ValueError: eagerly.
        tf.errors.InvalidArgumentError: in a graph, when it runs; nothing under XLA.
    """
    is_met, message = tf.reduce_all(condition), f"CRF: {expected}, got"
    if tf.executing_eagerly():
        if not is_met:
            raise ValueError(f"{message} {values.numpy().tolist()}")
        return values
    # Checked first: what comes after may fail with a message that says less.
    with tf.control_dependencies([tf.debugging.Assert(is_met, [message, values], summarize=100)]):
        return tf.identity(values)
