"""Answers of our light export: openvino, tokenizers and NumPy, no TensorFlow in the process."""

import itertools
import json
from pathlib import Path

import numpy as np
from answering import Work, answer

from tf_adapt.light.light_model import LightModel


def prepared(job: dict) -> Work:
    """`batch_size` as in `serve_ours`."""
    model = LightModel(job["export"])
    texts, size = json.loads(Path(job["texts"]).read_text("utf-8")), job["batch_size"]
    batches = [texts[start : start + size] for start in range(0, len(texts), size)]
    single = itertools.cycle(batches)

    def scores(asked):
        return np.concatenate([model.answer({"text": batch})["scores"] for batch in asked])

    def run(turn):
        return scores([next(single)] if size == 1 else batches)

    return Work(
        run,
        lambda result: {"scores": scores(batches)},
        amount=1 if size == 1 else len(texts),
    )


if __name__ == "__main__":
    answer(prepared)
