"""Our CRF: the loss with its gradients, and best paths."""

import numpy as np
import tensorflow as tf
from answering import Work, answer
from crf_example import example

from tf_adapt.layers.crf import CRF


def prepared(job: dict) -> Work:
    """`operation`: "loss" or "best_path"."""
    return {"loss": loss, "best_path": best_path}[job["operation"]](job["tags"])


def made(num_tags: int):
    """The CRF and what it is called with."""
    logits, tags, lengths, transitions = map(tf.constant, example(num_tags))
    crf = CRF(num_tags)
    crf.build()
    crf.transitions.assign(transitions)
    for weight in crf.weights:
        if weight is not crf.transitions:
            weight.assign(tf.zeros(weight.shape))
    mask = tf.sequence_mask(lengths, tags.shape[1])
    unknown = [tf.TensorSpec([None, None, num_tags]), tf.TensorSpec([None, None], tf.int64)]
    return crf, logits, tf.where(mask, tags, -1), unknown


def loss(num_tags: int) -> Work:
    """The loss and its gradients by the logits and all weights."""
    crf, logits, targets, unknown = made(num_tags)

    @tf.function(input_signature=unknown)
    def step(logits, targets):
        with tf.GradientTape() as tape:
            tape.watch(logits)
            value = crf.loss(targets, logits)
        rest = [weight.value for weight in crf.weights if weight is not crf.transitions]
        return tape.gradient(value, [logits, crf.transitions.value, *rest])

    def run(turn):
        return [tf.convert_to_tensor(part).numpy() for part in step(logits, targets)]

    return Work(run, lambda result: {"logits": result[0], "transitions": result[1]})


def best_path(num_tags: int) -> Work:
    """Viterbi's algorithm."""
    crf, logits, targets, unknown = made(num_tags)

    @tf.function(input_signature=unknown)
    def decoded(logits, targets):
        return crf.decode(logits, targets >= 0)

    def run(turn):
        return [part.numpy() for part in decoded(logits, targets)]

    return Work(run, lambda result: {"paths": np.where(targets >= 0, result[0], -1)})


if __name__ == "__main__":
    answer(prepared)
