"""A training step on pairs of sentences: MiniLM and a linear classifier."""

import json
from pathlib import Path

import keras
import numpy as np
from answering import Work, answer

import tf_adapt as ta


def prepared(job: dict) -> Work:
    """All of the encoder is trained."""
    keras.utils.set_random_seed(0)
    model, task = model_of(job)
    pairs = json.loads(Path(job["pairs"]).read_text("utf-8"))
    records = [(a, b, task.labels[label]) for a, b, label in pairs]
    dataset = ta.batches(records, task, model.encoder, batch_size=32, shuffle=False)

    def run(turn):
        return model.fit(dataset, verbose=0).history["loss"][-1]

    return Work(run, lambda loss: {"loss": np.array(loss)})


def model_of(job: dict):
    """The compiled model, and its task."""
    task = ta.Task("pair_classification", labels=["no", "yes"])
    encoder = ta.HubEncoder(job["module"])
    model = ta.build_model(task, encoder, "linear", "fine_tuning")
    with np.load(job["head"]) as head:
        model.head.dense.kernel.assign(head["kernel"])
        model.head.dense.bias.assign(head["bias"])
    optimizer = keras.optimizers.AdamW(
        job["rate"], weight_decay=0.01, epsilon=1e-8, global_clipnorm=1.0
    )
    optimizer = ta.DiscriminativeOptimizer(optimizer, encoder)
    model.compile(optimizer, task.loss, jit_compile=False)
    return model, task


if __name__ == "__main__":
    answer(prepared)
