"""A tag for each word."""

import tensorflow as tf
from keras import ops

from tf_adapt.data.packing.last_pieces import with_last_piece
from tf_adapt.encoder.hub_encoder import HubEncoder
from tf_adapt.layers.pooling import masked_mean
from tf_adapt.models.by_kind import classification
from tf_adapt.tasks.task import Task


def inputs(encoder: HubEncoder) -> dict:
    """Model inputs for one sentence of one word."""
    pieces = encoder.preprocessor.tokenize_words(tf.ragged.constant([["a"]]))
    return {"a": with_last_piece(encoder.preprocessor.pack_words(pieces), pieces)}


def targets(task: Task) -> tf.Tensor:
    """The targets of one sentence."""
    return tf.zeros([1, 1], "int32")


def predictions(model, outputs, inputs: dict) -> dict:
    """`label` and `probabilities`, with a CRF also `logits`: see `AdaptedModel.predictions`."""
    if not model.decodes:
        return classification.predictions(model, outputs, inputs)
    return {
        "label": outputs["tags"],
        "probabilities": model.head.probabilities(outputs),
        "logits": outputs["logits"],
    }


def real_words(losses, targets):
    """Which losses are of real words, not of padding."""
    return ops.reshape(targets, ops.shape(losses)) >= 0


def tag_weights(weights, targets, decodes: bool):
    """The weight of each word: that of its tag; under a CRF, which has one loss for a sentence, the
    mean weight of its words.

    Shapes: weights `[tags]`, targets `[batch, words] int` (−1 is padding) → `[batch, words]`;
    under a CRF `[batch]`.
    """
    targets = tf.cast(targets, tf.int32)
    of_words = tf.gather(weights, tf.maximum(targets, 0))
    return masked_mean(of_words[..., None], targets >= 0)[:, 0] if decodes else of_words
