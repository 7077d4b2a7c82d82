"""Contrastive tuning of a draw: `module`, `draws`; the turn is the number of the draw."""

import json
from pathlib import Path

import keras
from answering import Work, answer

import tf_adapt as ta

ITERATIONS, BATCH, RATE = 20, 16, 2e-5


def prepared(job: dict) -> Work:
    """One model whose values are set anew for each draw, so that its step is traced once."""
    given = json.loads(Path(job["draws"]).read_text("utf-8"))
    task = ta.Task("classification", labels=given["labels"])
    encoder = ta.HubEncoder(job["module"])
    model = ta.build_model(task, encoder, adaptation=ta.contrastive(ITERATIONS))
    steps = -(-len(given["draws"][0]) * 2 * ITERATIONS // BATCH)
    rate = ta.LinearDecay(RATE, steps, round(0.1 * steps))
    adam = keras.optimizers.AdamW(rate, weight_decay=0.01, global_clipnorm=1.0)
    model.compile(ta.DiscriminativeOptimizer(adam, encoder), task.loss, metrics=task.metrics)
    model.optimizer.build(model.trainable_weights)
    start = [(one, one.numpy()) for one in (*model.weights, *model.optimizer.variables)]
    scored = ta.batches(list(map(tuple, given["scored"])), task, encoder, 50, shuffle=False)

    def run(turn):
        keras.utils.set_random_seed(turn)
        for variable, value in start:
            variable.assign(value)
        draw = list(map(tuple, given["draws"][turn]))
        model.fit(ta.batches(draw, task, encoder, BATCH, turn), verbose=0)
        found = model.evaluate(scored, return_dict=True, verbose=0)
        return {name: round(float(found[name]), 4) for name in ("accuracy", "matthews")}

    return Work(run, lambda result: {}, note=json.dumps)


if __name__ == "__main__":
    answer(prepared)
