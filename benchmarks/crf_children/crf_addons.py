"""A child of benchmarks/crf.py: the CRF functions of TensorFlow Addons."""

import tensorflow as tf
import tensorflow_addons as tfa
from timing import THREADS, answer, example


def prepared(num_tags: int):
    """The CRF and what it is called with."""
    logits, tags, lengths = map(tf.constant, example(num_tags))
    transitions = tf.Variable(tf.random.normal([num_tags, num_tags]))
    unknown = [
        tf.TensorSpec([None, None, num_tags]),
        tf.TensorSpec([None, None], tf.int64),
        tf.TensorSpec([None], tf.int32),
    ]
    return transitions, (logits, tags, lengths), unknown


def loss(num_tags: int):
    """The loss and its gradients."""
    transitions, arguments, unknown = prepared(num_tags)

    @tf.function(input_signature=unknown)
    def run(logits, tags, lengths):
        with tf.GradientTape() as tape:
            tape.watch(logits)
            log_likelihood, _ = tfa.text.crf_log_likelihood(logits, tags, lengths, transitions)
            value = -tf.reduce_mean(log_likelihood)
        return tape.gradient(value, [logits, transitions])

    return lambda: [tf.convert_to_tensor(part).numpy() for part in run(*arguments)]


def best_path(num_tags: int):
    """Viterbi's algorithm."""
    transitions, arguments, unknown = prepared(num_tags)

    @tf.function(input_signature=unknown)
    def run(logits, tags, lengths):
        return tfa.text.crf_decode(logits, transitions, lengths)

    return lambda: [part.numpy() for part in run(*arguments)]


if __name__ == "__main__":
    tf.config.threading.set_intra_op_parallelism_threads(THREADS)
    tf.config.threading.set_inter_op_parallelism_threads(THREADS)
    answer({"loss": loss, "best_path": best_path})
