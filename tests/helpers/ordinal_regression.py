"""A kind of task that the library does not have: labels in an order, as "bad", "fair", "good".

With K labels a head has K − 1 outputs: the logits of going on from each label to the next, given
that it is reached. The score is the share of texts whose label is at most one step off.
"""

from dataclasses import replace

import keras
import numpy as np
import tensorflow as tf
from keras import ops
from kind_tables import TABLES, table_of

import tf_adapt.adaptation.kinds
import tf_adapt.analysis.kinds
import tf_adapt.models.kinds
import tf_adapt.tasks.keras_kinds
import tf_adapt.tasks.kinds
from tf_adapt.layers.global_mean import global_mean
from tf_adapt.statistics.metrics import METRICS, Metric, has_gold, share

KIND, METRIC = "ordinal_regression", "within_one"


def log_probabilities(logits):
    """`log p(k) = Σ_{j<k} log σ(x_j) + log σ(−x_k)`, without the last term at the last label.

    Shapes: `[batch, labels − 1]` → `[batch, labels]`, float32.
    """
    logits = ops.cast(logits, "float32")
    reached = ops.cumsum(ops.log_sigmoid(logits), axis=-1)
    nothing = ops.zeros_like(logits[:, :1])
    stops = ops.concatenate([ops.log_sigmoid(-logits), nothing], axis=-1)
    return ops.concatenate([nothing, reached], axis=-1) + stops


@keras.saving.register_keras_serializable("tests")
class OrdinalLoss(keras.losses.Loss):
    """Mean of `−log p(target)`. Shapes: targets `[batch] int`, logits `[batch, labels − 1]`."""

    def __init__(self, name: str = "ordinal_loss"):
        super().__init__(name=name)

    def __call__(self, y_true, y_pred, sample_weight=None):
        logs = log_probabilities(y_pred)
        targets = ops.one_hot(ops.reshape(y_true, (-1,)), logs.shape[-1])
        losses = -ops.sum(targets * logs, axis=-1)
        return global_mean(losses, ops.ones_like(losses, dtype="bool"), sample_weight)

    def get_config(self) -> dict:
        return {"name": self.name}


@keras.saving.register_keras_serializable("tests")
class WithinOne(keras.metrics.MeanMetricWrapper):
    """Share of examples whose label is at most one step off."""

    def __init__(self, name: str = METRIC, dtype=None):
        super().__init__(_near, name=name, dtype=dtype)

    def get_config(self) -> dict:
        return {"name": self.name, "dtype": self.dtype}


def _near(y_true, y_pred):
    predicted = ops.argmax(log_probabilities(y_pred), axis=-1)
    return ops.abs(predicted - ops.reshape(ops.cast(y_true, predicted.dtype), (-1,))) <= 1


def near_items(predictions, gold, labels, scheme) -> np.ndarray:
    """At most one step off, 1: the summands of the score."""
    ranks = {label: rank for rank, label in enumerate(labels)}
    near = [abs(ranks[a] - ranks[b]) <= 1 for a, b in zip(predictions, gold, strict=True)]
    return np.stack([np.array(near, np.float64), np.ones(len(gold))], axis=1)


def predictions(model, outputs, inputs: dict) -> dict:
    """`label` and `probabilities`, of all labels."""
    logs = log_probabilities(outputs)
    return {
        "label": tf.argmax(logs, axis=-1, output_type=tf.int32),
        "probabilities": tf.exp(logs),
    }


def own_rows() -> dict:
    """The rows that are not those of one label of several, by the module of their table."""
    alike = tf_adapt.tasks.kinds.KINDS["classification"]
    model = tf_adapt.models.kinds.KINDS["classification"]
    return {
        tf_adapt.adaptation.kinds: tf_adapt.adaptation.kinds.KINDS["regression"],
        tf_adapt.analysis.kinds: tf_adapt.analysis.kinds.Row(()),
        tf_adapt.models.kinds: replace(
            model, predictions=predictions, options=(), perturbations=()
        ),
        tf_adapt.tasks.keras_kinds: tf_adapt.tasks.keras_kinds.Row(
            OrdinalLoss, {METRIC: lambda task: WithinOne()}
        ),
        tf_adapt.tasks.kinds: replace(
            alike, metrics=(METRIC,), num_outputs=lambda task: len(task.labels) - 1
        ),
    }


def add(monkeypatch) -> None:
    """Adds the kind to every table, and its score."""
    own = own_rows()
    for table in map(table_of, TABLES):
        monkeypatch.setitem(table.KINDS, KIND, own.get(table, table.KINDS["classification"]))
    monkeypatch.setitem(METRICS, METRIC, Metric(near_items, share, has_gold))
