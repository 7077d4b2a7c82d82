"""A part of the context for each question."""

import tensorflow as tf

from tf_adapt.data.packing.prepared import ANSWER
from tf_adapt.data.packing.span_extraction import tokenized
from tf_adapt.data.packing.span_windows import Contexts, SpanWindows, pack_spans
from tf_adapt.encoder.hub_encoder import HubEncoder
from tf_adapt.errors import ConfigError
from tf_adapt.tasks.best_spans import best_spans
from tf_adapt.tasks.task import Task


def check_encoder(encoder: HubEncoder) -> None:
    """Checks the encoder of a model.

    Raises:
        ConfigError: it has windows of its own.
    """
    if encoder.long is not None:
        raise ConfigError(
            "long: expected none for span_extraction, which has windows of its own, got "
            f"{encoder.long}; make the encoder without"
        )


def inputs(encoder: HubEncoder) -> dict:
    """Model inputs for one question of one word and a context of one word."""
    words, first, end = tokenized(tf.constant(["a"]), encoder.preprocessor)
    contexts = Contexts(words.merge_dims(1, 2), words, first, end)
    spans = SpanWindows.of(contexts, budget=2, stride=1)
    return {"a": pack_spans(encoder.preprocessor, spans, tf.constant([0]))}


def targets(task: Task) -> tf.Tensor:
    """The targets of one window."""
    return tf.zeros([1, 2], "int32")


def predictions(model, outputs, inputs: dict) -> dict:
    """The best answers in each window, and the `loss` of labelled ones."""
    answers = best_spans(outputs, inputs, model.task.spans)
    if ANSWER not in inputs:
        return answers
    by_end = tf.transpose(tf.nn.log_softmax(outputs, axis=1), [0, 2, 1])
    chosen = tf.gather(by_end, inputs[ANSWER], batch_dims=2)
    return answers | {"loss": -tf.reduce_mean(chosen, axis=1)}
