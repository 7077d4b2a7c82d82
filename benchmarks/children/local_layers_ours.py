"""A training step of two layers of a ModernBERT on one row."""

import numpy as np
import tensorflow as tf
from answering import Work, answer
from memory_ours import held_mb

from hub_modules.native.relative.modern_bert import ModernBertEncoder


def prepared(job: dict) -> Work:
    """`positions`, `global_layers`."""
    encoder = ModernBertEncoder(
        vocabulary_size=1000,
        width=256,
        num_layers=2,
        num_heads=4,
        intermediate_width=512,
        max_positions=job["positions"],
        global_layers=job["global_layers"],
    )
    encoder.build()
    ids = np.random.default_rng(0).integers(0, 1000, (1, job["positions"])).astype("int32")
    inputs = {"input_word_ids": ids, "input_mask": np.ones_like(ids)}
    before = f"{held_mb():.0f} MB before"

    @tf.function
    def step():
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(encoder(inputs, training=True)["layers"][-1] ** 2)
        return tape.gradient(loss, encoder.trainable_variables)

    return Work(
        lambda turn: [gradient.numpy() for gradient in step()[-1:]],
        lambda result: {},
        note=lambda result: before,
    )


if __name__ == "__main__":
    answer(prepared)
