"""A step on long texts, by what learns."""

from pathlib import Path

import keras
import tensorflow as tf
from answering import Work, answer

import tf_adapt as ta

ADAPTATIONS = {
    None: ta.feature_extraction,
    "nothing": ta.feature_extraction,
    "adapters": ta.adapters,
    "top": ta.top_layers,
    "all": ta.fine_tuning,
}


def prepared(job: dict) -> Work:
    """`learns`: a key of `ADAPTATIONS`, None: the forward pass alone; `checkpointing`."""
    task, learns = ta.Task("classification", labels=["no", "yes"]), job["learns"]
    encoder = ta.HubEncoder(
        job["module"],
        trainable=learns not in (None, "nothing"),
        gradient_checkpointing=job.get("checkpointing", False),
    )
    model = ta.build_model(task, encoder, "linear", ADAPTATIONS[learns]())
    optimizer = keras.optimizers.AdamW(1e-6)
    model.compile(ta.DiscriminativeOptimizer(optimizer, encoder), task.loss, jit_compile=False)
    model.optimizer.build(model.trainable_weights)
    # Two units of each text are special tokens.
    texts = [" ".join(["dog"] * (job["units"] - 2))] * job["texts"]
    records = [(text, "yes") for text in texts]
    batch = next(iter(ta.batches(records, task, encoder, batch_size=len(texts))))
    before = f"{held_mb():.0f} MB before"
    forward = tf.function(lambda inputs: model(inputs, training=False))
    step = tf.function(model.train_step)

    def run(turn):
        if learns is None:
            forward(batch[0]).numpy()
        else:
            [value.numpy() for value in step(batch).values()]

    return Work(run, lambda result: {}, note=lambda result: before)


def held_mb() -> float:
    """What the process holds now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 1e6


if __name__ == "__main__":
    answer(prepared)
