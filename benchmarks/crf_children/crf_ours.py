"""A child of benchmarks/crf.py: our CRF."""

import tensorflow as tf
from timing import THREADS, answer, example

from tf_adapt.layers.crf import CRF


def prepared(num_tags: int):
    """The CRF and what it is called with."""
    logits, tags, lengths = map(tf.constant, example(num_tags))
    crf = CRF(num_tags)
    crf.build()
    mask = tf.sequence_mask(lengths, tags.shape[1])
    unknown = [tf.TensorSpec([None, None, num_tags]), tf.TensorSpec([None, None], tf.int64)]
    return crf, logits, tf.where(mask, tags, -1), unknown


def loss(num_tags: int):
    """The loss and its gradients."""
    crf, logits, targets, unknown = prepared(num_tags)

    @tf.function(input_signature=unknown)
    def run(logits, targets):
        with tf.GradientTape() as tape:
            tape.watch(logits)
            value = crf.loss(targets, logits)
        return tape.gradient(value, [logits, *(weight.value for weight in crf.weights)])

    return lambda: [tf.convert_to_tensor(part).numpy() for part in run(logits, targets)]


def best_path(num_tags: int):
    """Viterbi's algorithm."""
    crf, logits, targets, unknown = prepared(num_tags)

    @tf.function(input_signature=unknown)
    def run(logits, targets):
        return crf.decode(logits, targets >= 0)

    return lambda: [part.numpy() for part in run(logits, targets)]


if __name__ == "__main__":
    tf.config.threading.set_intra_op_parallelism_threads(THREADS)
    tf.config.threading.set_inter_op_parallelism_threads(THREADS)
    answer({"loss": loss, "best_path": best_path})
