"""The signatures of models that write texts: one as trained, and one with settings of the call."""

from collections.abc import Callable, Iterable
from typing import Any

import tensorflow as tf

from tf_adapt.generation.decoding import HOTTEST
from tf_adapt.serving.kinds import GENERATE, SETTINGS

_TYPES = {int: tf.int32, float: tf.float32}
_SETTINGS = {name: _TYPES[one] for name, one in SETTINGS.items()}


def predicted(model: Any, texts: list[tf.Tensor]) -> tf.Tensor:
    """The texts of a model (`ModelFromText`) as its run writes them, `[batch] string`."""
    new = model.called(lambda of_run: of_run.new_tokens)
    settings = zip(_SETTINGS.values(), (new, 0.0, 0), strict=True)
    return model.written(texts, _named(tf.constant(value, dtype) for dtype, value in settings))


def signatures(model: Any, texts_of: Callable, specs: dict, output: str) -> dict[str, Any]:
    """The signature `generate`: the inputs of the texts, and the settings, each a scalar → `output`
    `[batch] string`.

    Args:
        texts_of: inputs by name → the checked texts that a model reads.
        specs: of these inputs.
    """
    settings = [tf.TensorSpec([], dtype, name) for name, dtype in _SETTINGS.items()]

    def answer(*values: tf.Tensor) -> dict:
        texts = dict(zip(specs, values, strict=False))
        chosen = _checked(_named(values[len(specs) :]))
        return {output: model.written(texts_of(texts), chosen)}

    given = [*specs.values(), *settings]
    return {GENERATE: tf.function(answer, input_signature=given, autograph=False)}


def one_row_at_least(column: tf.Tensor) -> tf.Tensor:
    """A column of texts, or a row of one text in place of none: what decodes needs a row.

    Shapes: `[batch, …] string` → the same, or `[1, …]`.
    """
    row = tf.fill(tf.concat([[1], tf.ones_like(tf.shape(column)[1:])], axis=0), "a")
    return tf.cond(tf.shape(column)[0] > 0, lambda: column, lambda: row)


def _named(settings: Iterable[tf.Tensor]) -> dict[str, tf.Tensor]:
    """Settings by the names of `written_texts`."""
    return dict(zip(("new", "temperature", "seed"), settings, strict=True))


def _checked(settings: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
    new, temperature = settings["new"], settings["temperature"]
    checks = [
        _check(new >= 1, "max_new_tokens: expected at least 1, got {}", new),
        _check(
            (temperature >= 0) & (temperature <= HOTTEST),
            f"temperature: expected a number from 0 (no draw) to {HOTTEST}, got {{}}",
            temperature,
        ),
    ]
    with tf.control_dependencies(checks):
        return {name: tf.identity(value) for name, value in settings.items()}


def _check(is_right: tf.Tensor, message: str, value: tf.Tensor) -> tf.Operation:
    return tf.debugging.Assert(is_right, [tf.strings.format(message, value)])
