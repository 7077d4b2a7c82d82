"""Answers of our export, with TensorFlow alone, or with its encoder in another engine."""

import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
import tensorflow_text  # noqa: F401  (the export's operations)
from answering import Work, answer
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2


def prepared(job: dict) -> Work:
    """`batch_size` 1: a call is one text, the next one each time; else a call is all texts."""
    module = tf.saved_model.load(job["export"])
    if "engine" in job:
        from hub_modules.manifest import module_hash
        from tf_adapt.serving.exports.export_parts import signature_in

        content = module_hash(Path(job["export"]))
        signature = signature_in(job["engine"], module, "serving_default", job["export"], content)
    elif "constants" in job:
        signature = with_constants(module)
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


def with_constants(export: Any) -> Callable:
    """The signature of an export with the encoder's weights as constants in its graph."""
    function = export.encode.concrete_functions[0]
    encode, names = convert_variables_to_constants_v2(function), sorted(function.structured_outputs)

    @tf.function(autograph=False)
    def signature(text):
        texts = {"text": text}
        packed = export.pack(texts)
        encoded = {
            column: dict(zip(names, encode(*tf.nest.flatten(inputs)), strict=True))
            for column, inputs in packed["inputs"].items()
        }
        return export.answer(texts, packed, encoded)

    return signature.get_concrete_function(text=tf.TensorSpec([None], tf.string))


if __name__ == "__main__":
    answer(prepared)
