"""MiniLM with a linear classifier, exported for serving."""

from pathlib import Path

import numpy as np
from answering import Work, answer

import tf_adapt as ta
from tf_adapt.runs.export_files import DEFAULT
from tf_adapt.serving.exports.model_card import plain_card
from tf_adapt.serving.exports.shared_export import ServedTask
from tf_adapt.training.finished.export_formats import FORMATS
from tf_adapt.training.resolving.compiled_model import precision


def prepared(job: dict) -> Work:
    """`module`, `head`, `precision`, `format` → `path`, an export that takes raw text."""
    precision_of_model = None if job["precision"] == "int8" else job["precision"]

    def run(turn):
        task = ta.Task("classification", labels=["negative", "positive"])
        with precision(precision_of_model):
            encoder = ta.HubEncoder(job["module"], trainable=False)
            model = ta.build_model(task, encoder, "linear", head_scaled=False)
        with np.load(job["head"]) as head:
            model.head.dense.kernel.assign(head["kernel"])
            model.head.dense.bias.assign(head["bias"])
        card = plain_card(task.get_config())
        served = {DEFAULT: ServedTask(model)}
        FORMATS[job["format"]].tasks(served, Path(job["path"]), card, job["precision"])

    return Work(run, lambda result: {})


if __name__ == "__main__":
    answer(prepared)
