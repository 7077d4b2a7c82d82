"""A training step of our heads."""

import keras
import tensorflow as tf
from answering import Work, answer
from heads_example import CLASSES, LAYERS, WIDTH, example

from tf_adapt.heads.bcn import BCN
from tf_adapt.heads.esim import ESIM


def prepared(job: dict) -> Work:
    """`head`: "esim" or "bcn", `units`: its width."""
    texts, labels = example(job["head"])
    model = {"esim": ESIM, "bcn": BCN}[job["head"]](CLASSES, units=job["units"])
    encoded = [
        {"layers": list(map(tf.constant, layers)), "mask": tf.sequence_mask(lengths)}
        for layers, lengths in texts
    ]
    model(encoded)
    optimizer = keras.optimizers.Adam(4e-4)
    optimizer.build(model.trainable_variables)
    unknown = {
        "layers": [tf.TensorSpec([None, None, WIDTH])] * LAYERS,
        "mask": tf.TensorSpec([None, None], tf.bool),
    }

    @tf.function(input_signature=[[unknown] * len(texts), tf.TensorSpec([None], tf.int64)])
    def step(encoded, labels):
        with tf.GradientTape() as tape:
            loss = keras.losses.sparse_categorical_crossentropy(
                labels, model(encoded, training=True), from_logits=True
            )
            loss = tf.reduce_mean(loss)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply(gradients, model.trainable_variables)
        return loss

    labels = tf.constant(labels, tf.int64)
    return Work(lambda turn: step(encoded, labels).numpy(), lambda result: {})


if __name__ == "__main__":
    answer(prepared)
