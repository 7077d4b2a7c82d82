"""Trains the same model without XLA and with it, and prints what came of both."""

import json
import sys
from dataclasses import replace

import keras

import tf_adapt as ta
from tf_adapt.config.reading import config_from
from tf_adapt.data.batches import batches_from, prepare
from tf_adapt.data.formats import TaggedSentence
from tf_adapt.training.resolving.build import LENGTH_STEP
from tf_adapt.training.resolving.compiled_model import compiled_model

TEXTS = ["the man sings", "rain", "who is the man ? what is it ?", "the dog"]
RECORDS = {
    "classification": [(text, label) for text, label in zip(TEXTS, "abba", strict=True)],
    "tagging": [TaggedSentence(text.split(), ["B-X"] + ["O"] * text.count(" ")) for text in TEXTS],
}
TASKS = {
    "classification": ta.Task("classification", ["a", "b"]),
    "tagging": ta.Task("tagging", ["O", "B-X", "I-X"]),
}
HEADS = {"classification": "linear", "tagging": "crf"}


def config_of(handle: str, head: str, jit_compile: bool):
    content = {
        "data": {"dataset": "sample_classification", "source": "sample"},
        "encoder": {"handle": handle},
        "head": head,
        "adaptation": "fine_tuning",
        "training": {
            "epochs": 1,
            "batch_size": 2,
            "learning_rate": 1e-2,
            "jit_compile": jit_compile,
        },
    }
    return config_from(content, "test")


def trained(handle: str, kind: str, jit_compile: bool) -> dict:
    keras.utils.set_random_seed(0)
    model = compiled_model(config_of(handle, HEADS[kind], jit_compile), TASKS[kind])
    for layer in model._flatten_layers():
        if isinstance(layer, keras.layers.Dropout):
            layer.rate = 0.0  # XLA draws other numbers
    data = prepare(RECORDS[kind], TASKS[kind], model.encoder)
    data = replace(data, length_step=LENGTH_STEP if jit_compile else 1)
    return {
        "jit_compile": model.jit_compile,
        "losses": model.fit(batches_from(data, 2), epochs=2, verbose=0).history["loss"],
        "dev": [float(x) for x in model.evaluate(batches_from(data, 2, shuffle=False), verbose=0)],
        "weights": [weight.numpy().tolist() for weight in model.trainable_weights],
    }


if __name__ == "__main__":
    print(json.dumps([trained(*sys.argv[1:], jit_compile) for jit_compile in (False, True)]))
