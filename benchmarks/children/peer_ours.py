"""Fine-tuning on pairs with `fit`, scored after the last epoch: `module`, `data` and settings; the
turn is the seed."""

import json
from pathlib import Path

import keras
from answering import Work, answer

import tf_adapt as ta


def prepared(job: dict) -> Work:
    """A new model for each seed."""
    given = json.loads(Path(job["data"]).read_text("utf-8"))
    task = ta.Task(given["kind"], labels=given["labels"])
    train, scored = (list(map(tuple, given[part])) for part in ("train", "scored"))

    epochs, batch = job["epochs"], job["batch"]
    steps = epochs * -(-len(train) // batch)

    def run(seed):
        keras.utils.set_random_seed(seed)
        encoder = ta.HubEncoder(job["module"])
        model = ta.build_model(task, encoder, "linear", "fine_tuning")
        rate = ta.LinearDecay(job["rate"], steps, round(job["warmup"] * steps))
        adam = keras.optimizers.AdamW(rate, weight_decay=0.01, global_clipnorm=1.0)
        model.compile(ta.DiscriminativeOptimizer(adam, encoder), task.loss, metrics=task.metrics)
        model.fit(ta.batches(train, task, encoder, batch, seed), epochs=epochs, verbose=0)
        of_dev = ta.batches(scored, task, encoder, 50, shuffle=False)
        return model.evaluate(of_dev, return_dict=True, verbose=0)[given["metric"]]

    return Work(run, lambda result: {}, note=lambda result: f"{result:.4f}")


if __name__ == "__main__":
    answer(prepared)
