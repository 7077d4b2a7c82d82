"""The weights of a module of ours by the names of TF Hub's published BERTs, as .npz."""

import os

import numpy as np
from answering import Work, answer

import tf_adapt as ta
from hub_modules.sources.layouts.names import to_foreign
from hub_modules.sources.published_bert import table_rows


def prepared(job: dict) -> Work:
    """`module` → `path`."""

    def run(turn):
        encoder = ta.HubEncoder(job["module"], trainable=False).encoder
        weights = {name: one.numpy() for name, one in encoder.weights_by_name().items()}
        arrays = to_foreign(table_rows(encoder.get_config()), weights)
        with open(f"{job['path']}.part", "wb") as file:
            np.savez(file, **arrays)
        os.replace(f"{job['path']}.part", job["path"])

    return Work(run, lambda result: {})


if __name__ == "__main__":
    answer(prepared)
