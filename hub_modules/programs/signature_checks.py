"""Checks of a served signature's inputs at each call.

TensorFlow passes a signature tensors of any rank, whatever its published shape: kernels then read
beyond their input, which crashes the process, or compute wrong results.
"""

import tensorflow as tf

# Valid UTF-8 without NUL, byte for byte as Python decodes it. RE2 compiles a class over all of
# U+0080 to U+10FFFF to something laxer; without the surrogates it is exact.
_TEXT = r"[\x{1}-\x{d7ff}\x{e000}-\x{10ffff}]*"


def check_shapes(forms: dict[str, str], inputs: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
    """The inputs of a signature after a check of their ranks and numbers of rows.

    Args:
        forms: for each input its expected form in messages, such as "[batch, words] string".
        inputs: by name, with the shapes that the signature publishes.

    Raises:
        tf.errors.InvalidArgumentError: in the graph: an input has another rank, or not as many rows
            as the first.
    """
    ranks = [_check_rank(name, inputs[name], form) for name, form in forms.items()]
    with tf.control_dependencies(ranks):
        rows = {name: tf.shape(_of_unknown_shape(value))[0] for name, value in inputs.items()}
    first, *others = inputs
    checks = [_check_rows(name, rows[name], first, rows[first]) for name in others]
    with tf.control_dependencies([*ranks, *checks]):
        return {name: tf.identity(value) for name, value in inputs.items()}


def check_text(name: str, texts: tf.Tensor) -> tf.Tensor:
    """The strings after a check that each is UTF-8 without NUL.

    Raises:
        tf.errors.InvalidArgumentError: in the graph: one is not; the message has its index.
    """
    legal = tf.strings.regex_full_match(texts, _TEXT)
    index = tf.where(tf.logical_not(legal))[:1]
    message = tf.strings.format(
        f"{name}: expected UTF-8 without NUL, got other bytes at {{}} (counted from 0)", index
    )
    with tf.control_dependencies([tf.debugging.Assert(tf.reduce_all(legal), [message])]):
        return tf.identity(texts)


def _check_rank(name: str, value: tf.Tensor, form: str) -> tf.Operation:
    expected, rank = value.shape.rank, tf.rank(_of_unknown_shape(value))
    message = f"{name}: expected rank {expected}, {form}, got rank {{}}"
    return tf.debugging.Assert(tf.equal(rank, expected), [tf.strings.format(message, rank)])


def _check_rows(name: str, rows: tf.Tensor, first: str, expected: tf.Tensor) -> tf.Operation:
    message = f"{name}: expected {{}} rows, as many as {first} has, got {{}}"
    shown = tf.strings.format(message, (expected, rows))
    return tf.debugging.Assert(tf.equal(rows, expected), [shown])


def _of_unknown_shape(value: tf.Tensor) -> tf.Tensor:
    """The same tensor with an unknown static shape, by way of an optional value.

    Graph optimisation would replace the rank by the published one; it undoes every simpler way to
    remove a static shape.
    """
    optional = tf.raw_ops.OptionalFromValue(components=[value])
    return tf.raw_ops.OptionalGetValue(
        optional=optional, output_types=[value.dtype], output_shapes=[tf.TensorShape(None)]
    )[0]
