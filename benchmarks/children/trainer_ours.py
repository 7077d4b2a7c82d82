"""Full fine-tuning on pairs with `fit`: one epoch, or as long as it takes to a dev score."""

import json
from pathlib import Path

import keras
import numpy as np
from answering import Work, answer

import tf_adapt as ta
from tf_adapt.compiling import precision

WARM_UP = 64


def prepared(job: dict) -> Work:
    """`until`: a dev accuracy, or None for one epoch; `every`: steps between evaluations."""
    return epoch(job) if job["until"] is None else to_score(job)


def epoch(job: dict) -> Work:
    """One epoch after another of the same model."""
    model, task = compiled(job, seed=0)
    data = {count: batches(job["train"], task, model, count) for count in (WARM_UP, None)}

    def run(turn):
        dataset = data[WARM_UP if turn is None else None]
        return model.fit(dataset, verbose=0).history["loss"][-1]

    return Work(run, lambda loss: {"loss": np.array(loss)}, amount=size(job["train"]))


def to_score(job: dict) -> Work:
    """Everything from the module's files on, with the turn as seed."""

    def run(turn):
        if turn is None:
            return None
        model, task = compiled(job, seed=turn)
        train = batches(job["train"], task, model, seed=turn)
        dev = batches(job["dev"], task, model, shuffle=False)
        until = Until(dev, job)
        model.fit(train, epochs=job["epochs"], callbacks=[until], verbose=0)
        if until.score < job["until"]:
            raise RuntimeError(f"{job['until']} was not reached, but {until.score:.3f}")
        return until

    return Work(
        run,
        lambda until: {},
        note=lambda until: f"{until.steps} steps to {until.score:.3f}" if until else "",
    )


def compiled(job: dict, seed: int):
    """The model with AdamW on a line that falls to zero, and its task."""
    keras.utils.set_random_seed(seed)
    task = ta.Task("pair_classification", labels=["no", "yes"])
    with precision(job["precision"]):
        encoder = ta.HubEncoder(job["module"])
        model = ta.build_model(task, encoder, "linear", "fine_tuning")
    steps = -(-size(job["train"]) // 32) * job["epochs"]
    rate = ta.LinearDecay(job["rate"], steps, round(0.1 * steps)) if job["until"] else job["rate"]
    optimizer = keras.optimizers.AdamW(rate, weight_decay=0.01, global_clipnorm=1.0)
    model.compile(
        ta.DiscriminativeOptimizer(optimizer, encoder),
        task.loss,
        metrics=task.metrics,
        jit_compile=False,
    )
    return model, task


def batches(path: str, task, model, count: int | None = None, **options):
    """Batches of 32 pairs of a file."""
    pairs = json.loads(Path(path).read_text("utf-8"))[:count]
    records = [(a, b, task.labels[label]) for a, b, label in pairs]
    return ta.batches(records, task, model.encoder, batch_size=32, **options)


def size(path: str) -> int:
    """How many pairs a file holds."""
    return len(json.loads(Path(path).read_text("utf-8")))


class Until(keras.callbacks.Callback):
    """Evaluates every so many steps, and stops once the score is there."""

    def __init__(self, dev, job: dict):
        super().__init__()
        self.dev, self.job = dev, job
        self.steps, self.score = 0, 0.0

    def on_train_batch_end(self, batch, logs=None):
        self.steps += 1
        if self.steps % self.job["every"]:
            return
        self.score = self.model.evaluate(self.dev, verbose=0, return_dict=True)["accuracy"]
        if self.score >= self.job["until"]:
            self.model.stop_training = True


if __name__ == "__main__":
    answer(prepared)
