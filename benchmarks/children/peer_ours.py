"""Fine-tuning on pairs with `fit`, scored after the last epoch: `module`, `data`; the turn is the
seed."""

import json
from pathlib import Path

import keras
from answering import Work, answer

import tf_adapt as ta

EPOCHS, BATCH, RATE, WARMUP = 4, 16, 1e-4, 0.1


def prepared(job: dict) -> Work:
    """A new model for each seed."""
    given = json.loads(Path(job["data"]).read_text("utf-8"))
    task = ta.Task(given["kind"], labels=given["labels"])
    train, scored = (list(map(tuple, given[part])) for part in ("train", "scored"))

    def run(seed):
        keras.utils.set_random_seed(seed)
        encoder = ta.HubEncoder(job["module"])
        model = ta.build_model(task, encoder, "linear", "fine_tuning")
        steps = EPOCHS * -(-len(train) // BATCH)
        rate = ta.LinearDecay(RATE, steps, round(WARMUP * steps))
        adam = keras.optimizers.AdamW(rate, weight_decay=0.01, global_clipnorm=1.0)
        model.compile(ta.DiscriminativeOptimizer(adam, encoder), task.loss, metrics=task.metrics)
        model.fit(ta.batches(train, task, encoder, BATCH, seed), epochs=EPOCHS, verbose=0)
        of_dev = ta.batches(scored, task, encoder, 50, shuffle=False)
        return model.evaluate(of_dev, return_dict=True, verbose=0)[given["metric"]]

    return Work(run, lambda result: {}, note=lambda result: f"{result:.4f}")


if __name__ == "__main__":
    answer(prepared)
