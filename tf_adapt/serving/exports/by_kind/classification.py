"""Texts and pairs in the graph: the label and the probability of each."""

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from hub_modules.preprocess import tokenized, truncate
from tf_adapt.data.packing.prepared import Limits
from tf_adapt.serving.exports.length_check import length_check
from tf_adapt.tasks.task import Task


def of_text(answer: Callable) -> Callable:
    """A signature of one text."""
    return lambda text: answer({"text": text})


def of_pair(answer: Callable) -> Callable:
    """A signature of two texts."""
    return lambda text_a, text_b: answer({"text_a": text_a, "text_b": text_b})


def columns(texts: dict) -> list[tf.Tensor]:
    """The checked inputs of a signature as a model reads them."""
    return list(texts.values())


def packed(texts: list[tf.Tensor], preprocessor: Any, joint: bool, limits: Limits) -> dict:
    """The `inputs` of a model for texts that are read together (`joint`) or each by itself."""
    segments = tokenized(preprocessor, texts)
    groups = [segments] if joint else [[segment] for segment in segments]
    inputs = {
        name: preprocessor.pack(_fitted(group, preprocessor, limits))
        for name, group in zip("ab", groups, strict=False)
    }
    return {"inputs": inputs}


def _fitted(segments: list, preprocessor: Any, limits: Limits) -> list:
    limit = limits.tokens - preprocessor.special_tokens(len(segments))
    if limits.may_cut:
        return truncate(segments, limit)[0]
    lengths = sum(segment.row_lengths() for segment in segments)
    with tf.control_dependencies(length_check(lengths, limit, "an input")):
        return [tf.identity(segment) for segment in segments]


def predicted(model: Any, texts: Any) -> dict:
    """The predictions of a model (`ModelFromText`) for texts."""
    return model.predict(texts)


def of_rows_of_texts(answers: dict, packed: dict, texts: Any) -> dict:
    """The answers to texts, of which each is one row."""
    return answers


def combined(combination: Callable, answers: list[dict], texts: Any) -> dict:
    """One answer from those of several models."""
    return combination(answers)


def named(answer: dict, task: Task, labels: tf.Tensor, texts: dict) -> dict:
    """The outputs of a signature: the name of the label, the probability of each."""
    return {"label": tf.gather(labels, answer["label"]), "scores": answer["probabilities"]}
