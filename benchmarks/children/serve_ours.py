"""Answers of our export, with TensorFlow alone, or with its encoder in another engine."""

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
    if "engine" in job:
        from hub_modules.manifest import module_hash
        from tf_adapt.serving.export_parts import signature_in

        content = module_hash(Path(job["export"]))
        signature = signature_in(job["engine"], module, "serving_default", job["export"], content)
    else:
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
