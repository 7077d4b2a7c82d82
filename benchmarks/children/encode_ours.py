"""Texts to vectors or states with `ta.encode`."""

import json
from pathlib import Path

import numpy as np
import tensorflow as tf
from answering import Work, answer

import tf_adapt as ta
from tf_adapt.training.resolving.compiled_model import precision

COMPARED = 32


def prepared(job: dict) -> Work:
    """`give`: "vectors" or "states"."""
    with precision(job["precision"]):
        encoder = ta.HubEncoder(
            job["module"], trainable=False, engine=job.get("engine", "tensorflow")
        )
    texts = json.loads(Path(job["texts"]).read_text("utf-8"))
    preprocessor = encoder.preprocessor
    units = int(tf.size(preprocessor.tokenize(tf.constant(texts)).flat_values))

    def run(turn):
        layer = None if job["give"] == "states" else -1
        features = ta.encode(encoder, texts, batch_size=job["batch_size"], layer=layer)
        if job["give"] == "states":
            return features
        return np.stack([states.mean(axis=0) for states in features])

    def outputs(result):
        if job["give"] == "states":
            result = np.concatenate(result[:COMPARED], axis=1)
        return {"result": result}

    return Work(run, outputs, amount=units + preprocessor.special_tokens(1) * len(texts))


if __name__ == "__main__":
    answer(prepared)
