"""An epoch of full fine-tuning on pairs with `fit`."""

import json
from pathlib import Path

import keras
import numpy as np
from answering import Work, answer

import tf_adapt as ta
from tf_adapt.training.resolving.compiled_model import precision

WARM_UP = 64


def prepared(job: dict) -> Work:
    """One epoch after another of the same model."""
    model, task = compiled(job)
    data = {count: batches(job["train"], task, model, count) for count in (WARM_UP, None)}

    def run(turn):
        dataset = data[WARM_UP if turn is None else None]
        return model.fit(dataset, verbose=0).history["loss"][-1]

    return Work(run, lambda loss: {"loss": np.array(loss)}, amount=size(job["train"]))


def compiled(job: dict):
    """The model with AdamW at a constant rate, and its task."""
    keras.utils.set_random_seed(0)
    task = ta.Task("pair_classification", labels=["no", "yes"])
    with precision(job["precision"]):
        encoder = ta.HubEncoder(job["module"])
        model = ta.build_model(task, encoder, "linear", "fine_tuning")
    optimizer = keras.optimizers.AdamW(job["rate"], weight_decay=0.01, global_clipnorm=1.0)
    model.compile(
        ta.DiscriminativeOptimizer(optimizer, encoder),
        task.loss,
        metrics=task.metrics,
        jit_compile=False,
    )
    return model, task


def batches(path: str, task, model, count: int | None):
    """Batches of 32 pairs of a file."""
    pairs = json.loads(Path(path).read_text("utf-8"))[:count]
    records = [(a, b, task.labels[label]) for a, b, label in pairs]
    return ta.batches(records, task, model.encoder, batch_size=32)


def size(path: str) -> int:
    """How many pairs a file holds."""
    return len(json.loads(Path(path).read_text("utf-8")))


if __name__ == "__main__":
    answer(prepared)
