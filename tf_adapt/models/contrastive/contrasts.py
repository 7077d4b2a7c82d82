"""What contrastive tuning trains on: pairs by their labels, or pairs with scores."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import tensorflow as tf

from tf_adapt.data.batches import batches_from, epoch_batches, epoch_order
from tf_adapt.data.packing.prepared import PreparedData
from tf_adapt.heads.similarity import cosine
from tf_adapt.models.contrastive.fitted_heads import fit_line, fit_logistic
from tf_adapt.models.contrastive.losses import cosent, cosine_error
from tf_adapt.models.contrastive.pairs import epoch_of_pairs, epochs_of_pairs, steps_of_pairs


@dataclass(frozen=True)
class Contrast:
    """Contrastive tuning for a kind of task.

    Attributes:
        loss: targets and cosines of a batch of pairs, `[batch]` each → scalar.
        features: model and inputs → what the head is fitted on, a row for each example.
        fit: head, features and targets of all training examples → the head's weights.
        batches: prepared examples, pairs of each text, batch size, seed, epoch, skipped batches →
            the batches of pairs of an epoch.
        epochs: the same but for the last → the batches whose k-th iteration is epoch `epoch + k`.
        order: the same but for the last → the numbers of the examples of each batch.
    """

    loss: Callable[..., tf.Tensor]
    features: Callable[..., tf.Tensor]
    fit: Callable[..., None]
    batches: Callable[..., tf.data.Dataset]
    epochs: Callable[..., tf.data.Dataset]
    order: Callable[..., list[np.ndarray]]


def vector(model, inputs: dict, training: bool = False) -> tf.Tensor:
    """What the head reads of each text of a column: `[batch, width] float32`."""
    encoded = model.encoded(inputs, training)
    return tf.cast(model.head.vectors([encoded], inputs)[0], tf.float32)


def cosines(model, inputs: dict, training: bool = False) -> tf.Tensor:
    """Of the vectors of both texts of each pair: `[batch] float32`."""
    return cosine(*(vector(model, inputs[name], training) for name in ("a", "b")))


def _batches_of_scores(
    prepared: PreparedData, iterations: int, batch_size: int, seed: int, epoch: int, skip: int = 0
) -> tf.data.Dataset:
    return epoch_batches(prepared, batch_size, seed, epoch, skip)


def _epochs_of_scores(
    prepared: PreparedData, iterations: int, batch_size: int, seed: int, epoch: int
) -> tf.data.Dataset:
    return batches_from(prepared, batch_size, seed, first_epoch=epoch)


def _order_of_scores(
    prepared: PreparedData, iterations: int, batch_size: int, seed: int, epoch: int
) -> list[np.ndarray]:
    return epoch_order(prepared.lengths, batch_size, seed, epoch)


def _order_of_pairs(*given) -> list[np.ndarray]:
    return [np.concatenate(step[:2]) for step in steps_of_pairs(*given)]


OF_LABELS = Contrast(
    loss=cosine_error,
    features=lambda model, inputs: vector(model, inputs["a"]),
    fit=fit_logistic,
    batches=epoch_of_pairs,
    epochs=epochs_of_pairs,
    order=_order_of_pairs,
)
OF_SCORES = Contrast(
    loss=cosent,
    features=cosines,
    fit=fit_line,
    batches=_batches_of_scores,
    epochs=_epochs_of_scores,
    order=_order_of_scores,
)
