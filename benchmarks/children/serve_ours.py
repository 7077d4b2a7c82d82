"""Answers of our export, with TensorFlow alone."""

import itertools
import json
from pathlib import Path

import numpy as np
import tensorflow as tf
import tensorflow_text  # noqa: F401  (the export's operations)
from answering import Work, answer


def prepared(job: dict) -> Work:
    """`batch_size` 1: a call is one text, the next one each time; else a call is all texts."""
    module = tf.saved_model.load(job["export"])
    signature = module.signatures["serving_default"]
    texts = json.loads(Path(job["texts"]).read_text("utf-8"))
    batches = [
        tf.constant(texts[start : start + job["batch_size"]])
        for start in range(0, len(texts), job["batch_size"])
    ]
    single = itertools.cycle(batches)

    def run(turn):
        asked = [next(single)] if job["batch_size"] == 1 else batches
        return np.concatenate([signature(text=batch)["scores"].numpy() for batch in asked])

    def outputs(result):
        return {"scores": np.concatenate([signature(text=b)["scores"].numpy() for b in batches])}

    return Work(run, outputs, amount=1 if job["batch_size"] == 1 else len(texts))


if __name__ == "__main__":
    answer(prepared)
