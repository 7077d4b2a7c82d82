"""MiniLM with a linear classifier, exported for serving."""

import numpy as np
from answering import Work, answer

import tf_adapt as ta
from tf_adapt.training.resolving.compiled_model import precision


def prepared(job: dict) -> Work:
    """`module`, `head`, `precision` → `path`, a SavedModel that takes raw text."""

    def run(turn):
        task = ta.Task("classification", labels=["negative", "positive"])
        with precision(job["precision"]):
            encoder = ta.HubEncoder(job["module"], trainable=False)
            model = ta.build_model(task, encoder, "linear", head_scaled=False)
        with np.load(job["head"]) as head:
            model.head.dense.kernel.assign(head["kernel"])
            model.head.dense.bias.assign(head["bias"])
        ta.export(model, job["path"])

    return Work(run, lambda result: {})


if __name__ == "__main__":
    answer(prepared)
