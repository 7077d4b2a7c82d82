"""Epochs of a head on a frozen encoder, whose features are kept or computed in every epoch."""

import json
from pathlib import Path

import keras
import numpy as np
from answering import Work, answer

import tf_adapt as ta
from tf_adapt.data.batches import batches_from, prepare
from tf_adapt.encoder.feature_cache import with_features

LIMIT_MB = {True: 100_000, False: 0}


def prepared(job: dict) -> Work:
    """`kept`: whether features are kept; computing them is part of the time."""
    task = ta.Task("pair_classification", labels=["no", "yes"])
    encoder = ta.HubEncoder(job["module"], trainable=False)
    model = ta.build_model(task, encoder, "linear", head_dropout=0.0, head_scaled=False)
    optimizer = keras.optimizers.AdamW(job["rate"], weight_decay=0.0, epsilon=1e-8)
    model.compile(optimizer, task.loss, jit_compile=False)
    model.optimizer.build(model.trainable_variables)
    with np.load(job["head"]) as head:
        model.head.dense.kernel.assign(head["kernel"])
        model.head.dense.bias.assign(head["bias"])
    changing = [*model.head.weights, *model.optimizer.variables]
    start = [variable.numpy() for variable in changing]
    pairs = json.loads(Path(job["pairs"]).read_text("utf-8"))
    records = [(a, b, task.labels[label]) for a, b, label in pairs]

    def run(turn):
        for variable, value in zip(changing, start, strict=True):
            variable.assign(value)
        given = prepare(records[:64] if turn is None else records, task, encoder)
        limit = LIMIT_MB[job["kept"]]
        ready = with_features(given, encoder, limit_mb=limit, head_inputs=model.head.head_inputs)
        dataset = batches_from(ready, 32, shuffle=False)
        epochs = 1 if turn is None else job["epochs"]
        return model.fit(dataset, epochs=epochs, verbose=0).history["loss"][-1]

    return Work(run, lambda loss: {"loss": np.array(loss)})


if __name__ == "__main__":
    answer(prepared)
