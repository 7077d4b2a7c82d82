"""Training steps on pairs of sentences: MiniLM and a linear classifier."""

import json
from pathlib import Path

import keras
import numpy as np
from answering import Work, answer

import tf_adapt as ta
from tf_adapt.compiling import precision

ADAPTATIONS = {
    "frozen": ta.feature_extraction,
    "top": lambda: ta.top_layers(1),
    "full": ta.fine_tuning,
}


def prepared(job: dict) -> Work:
    """`trained`: "frozen", "top" or "full"; `dropout`: whether there is any; `packed_before`:
    whether all batches are in memory after the first turn."""
    keras.utils.set_random_seed(0)
    model, task = model_of(job)
    pairs = json.loads(Path(job["pairs"]).read_text("utf-8"))[: job["examples"]]
    records = [(a, b, task.labels[label]) for a, b, label in pairs]
    dataset = ta.batches(records, task, model.encoder, batch_size=32, shuffle=False)
    if job.get("packed_before"):
        dataset = dataset.cache()

    def run(turn):
        return model.fit(dataset, verbose=0).history["loss"][-1]

    def outputs(loss):
        inputs, _ = next(iter(dataset))
        return {"loss": np.array(loss), "logits": np.asarray(model(inputs, training=False))}

    return Work(run, outputs)


def model_of(job: dict):
    """The compiled model, and its task."""
    task = ta.Task("pair_classification", labels=["no", "yes"])
    adaptation = ADAPTATIONS[job["trained"]]()
    with precision(job["precision"]):
        encoder = ta.HubEncoder(job["module"], trainable=job["trained"] != "frozen")
        model = ta.build_model(task, encoder, "linear", adaptation)
    with np.load(job["head"]) as head:
        model.head.dense.kernel.assign(head["kernel"])
        model.head.dense.bias.assign(head["bias"])
    for layer in model._flatten_layers():
        if isinstance(layer, keras.layers.Dropout) and not job["dropout"]:
            layer.rate = 0.0
    optimizer = keras.optimizers.AdamW(
        job["rate"], weight_decay=0.01, epsilon=1e-8, global_clipnorm=1.0
    )
    optimizer = ta.DiscriminativeOptimizer(optimizer, encoder)
    model.compile(optimizer, task.loss, jit_compile=False)
    return model, task


if __name__ == "__main__":
    answer(prepared)
