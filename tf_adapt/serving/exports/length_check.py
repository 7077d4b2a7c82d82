"""A check in the graph of a served model: no input is longer than the model takes."""

import tensorflow as tf


def length_check(
    lengths: tf.Tensor, limit: int, what: str, unit: str = "tokens", may_be_cut: bool = True
) -> list:
    """Control dependencies that fail, with an error for the caller, on a too long input."""
    check = tf.debugging.assert_less_equal(
        lengths,
        tf.cast(limit, lengths.dtype),
        message=f"{what} is longer than the {limit} {unit} that the model takes; shorten it"
        + (", or export with truncation" if may_be_cut else ""),
    )
    return [] if check is None else [check]
