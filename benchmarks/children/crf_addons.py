"""The CRF functions of TensorFlow Addons."""

import tensorflow as tf
import tensorflow_addons as tfa
from answering import Work, answer
from crf_example import TIME, example


def prepared(job: dict) -> Work:
    """`operation`: "loss" or "best_path"."""
    return {"loss": loss, "best_path": best_path}[job["operation"]](job["tags"])


def made(num_tags: int):
    """The transitions and what the functions are called with."""
    logits, tags, lengths, transitions = map(tf.constant, example(num_tags))
    unknown = [
        tf.TensorSpec([None, None, num_tags]),
        tf.TensorSpec([None, None], tf.int64),
        tf.TensorSpec([None], tf.int32),
    ]
    return tf.Variable(transitions), (logits, tags, lengths), unknown


def loss(num_tags: int) -> Work:
    """The loss and its gradients."""
    transitions, arguments, unknown = made(num_tags)

    @tf.function(input_signature=unknown)
    def step(logits, tags, lengths):
        with tf.GradientTape() as tape:
            tape.watch(logits)
            log_likelihood, _ = tfa.text.crf_log_likelihood(logits, tags, lengths, transitions)
            value = -tf.reduce_mean(log_likelihood)
        return tape.gradient(value, [logits, transitions])

    def run(turn):
        return [tf.convert_to_tensor(part).numpy() for part in step(*arguments)]

    return Work(run, lambda result: {"logits": result[0], "transitions": result[1]})


def best_path(num_tags: int) -> Work:
    """Viterbi's algorithm."""
    transitions, arguments, unknown = made(num_tags)

    @tf.function(input_signature=unknown)
    def decoded(logits, tags, lengths):
        return tfa.text.crf_decode(logits, transitions, lengths)

    def run(turn):
        return [part.numpy() for part in decoded(*arguments)]

    real = tf.sequence_mask(arguments[2], TIME)
    return Work(run, lambda result: {"paths": tf.where(real, result[0], -1).numpy()})


if __name__ == "__main__":
    answer(prepared)
