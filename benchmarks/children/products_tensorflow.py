"""Matrix products in a graph of TensorFlow, on weights of float32 or of the given precision."""

import tensorflow as tf
from answering import Work, answer
from products_example import example


def prepared(job: dict) -> Work:
    """`half`: weights are kept in the precision of the products; `constant`: in the graph."""
    arrays, weights = example(job["rows"])
    states = {width: tf.constant(array, job["precision"]) for width, array in arrays.items()}
    kept = job["precision"] if job.get("half") else "float32"
    held = tf.constant if job.get("constant") else tf.Variable
    weights = [held(tf.cast(weight, kept)) for weight in weights]

    @tf.function(autograph=False)
    def products(states):
        return [tf.matmul(states[w.shape[0]], tf.cast(w, job["precision"])) for w in weights]

    def run(turn):
        found = products(states)
        found[-1].numpy()  # on a GPU, only this waits for the end
        return found

    return Work(run, lambda found: {"result": tf.cast(found[-1], tf.float32).numpy()})


if __name__ == "__main__":
    answer(prepared)
