"""Classification, of a text or of a pair; what most kinds of task do alike."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from tf_adapt.data.batches import PreparedData, sorted_batches
from tf_adapt.data.formats import Record
from tf_adapt.encoder.hub_encoder import HubEncoder
from tf_adapt.models.adapted_model import AdaptedModel
from tf_adapt.models.combination import SMALLEST
from tf_adapt.tasks.task import Task

Scores = dict[str, float]
Answer = dict[str, np.ndarray]  # of `batch_predictions`


def evaluated(
    model: AdaptedModel,
    prepared: PreparedData,
    records: list,
    batch_size: int,
    callbacks: Sequence[keras.callbacks.Callback] = (),
) -> Scores:
    """Loss and metrics of Keras, from a pass over the examples."""
    dataset, _ = sorted_batches(prepared, batch_size)
    results = model.evaluate(dataset, callbacks=list(callbacks), return_dict=True, verbose=0)
    return {name: float(value) for name, value in results.items()}


def no_scores(task: Task, records: list, answer: Answer, predictions: list) -> Scores:
    """Nothing beside `evaluated`."""
    return {}


def no_facts(examples: dict[str, list]) -> dict[str, Any]:
    """Nothing is kept of the examples."""
    return {}


def head_encoder(model: AdaptedModel) -> HubEncoder | None:
    """The encoder if only the head reads it, so that outputs of frozen layers can be kept; None
    with auxiliary losses, which run it on the texts."""
    return None if model.auxiliaries else model.encoder


def written_splits(names: list[str], writes: bool) -> list[str]:
    """The splits to predict: all in the process that writes the run folder."""
    return names if writes else []


def unchanged(task: Task, records: list, answer: Answer) -> Task:
    """The task: it has no thresholds."""
    return task


def log_probabilities(answer: Answer) -> np.ndarray:
    """Finite logits with the probabilities p of an ensemble's answer: `log p`."""
    probabilities = answer["probabilities"].astype("float64")
    return np.log(np.maximum(probabilities, SMALLEST)).astype("float32")


def teacher_of_examples(
    values: np.ndarray, train: PreparedData, labelled: list
) -> tuple[tf.Tensor, np.ndarray]:
    """A teacher's answers for each row of train, and which rows have labels.

    Args:
        values: `[examples, …]`.
        labelled: the examples with labels, which come first.
    """
    return tf.constant(values), np.arange(len(train.lengths)) < len(labelled)


def with_first_label(record: Record, task: Task) -> Record:
    """An unlabelled text with a placeholder label, which is not used."""
    return replace(record, label=(task.labels or [None])[0])


def outcomes(task: Task, records: list, answer: Answer) -> tuple[np.ndarray, np.ndarray]:
    """The probabilities of each example's labels, and the id of the true one."""
    return answer["probabilities"], np.array([task.labels.index(one.label) for one in records])
