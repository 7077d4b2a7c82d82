"""An ELMo as a module of ours with random weights, and the weights of a module as .npz."""

import json
import os

import numpy as np
from answering import Work, answer

import tf_adapt as ta
from hub_modules.export import write_module
from hub_modules.native.elmo import ElmoEncoder
from hub_modules.sources import ModuleSource


def prepared(job: dict) -> Work:
    """`config` → `path`, a module of that size; or `module` → `path`, its weights."""
    return Work(random_module(job) if "config" in job else weights(job), lambda result: {})


def random_module(job: dict):
    """Weights as a new network has them."""

    def run(turn):
        encoder = ElmoEncoder(**job["config"])
        encoder.build()
        arrays = {name: weight.numpy() for name, weight in encoder.weights_by_name().items()}
        write_module(ModuleSource("elmo", job["config"], arrays), job["path"])

    return run


def weights(job: dict):
    """By our names, and the encoder's settings as JSON under `config`."""

    def run(turn):
        encoder = ta.HubEncoder(job["module"], trainable=False).encoder
        arrays = {name: weight.numpy() for name, weight in encoder.weights_by_name().items()}
        names = ("filters", "num_highway", "num_layers", "skip_connections", "activation")
        settings = encoder.get_config()
        config = {name: settings[name] for name in (*names, "cell_clip", "projection_clip")}
        with open(f"{job['path']}.part", "wb") as file:
            np.savez(file, config=json.dumps(config), **arrays)
        os.replace(f"{job['path']}.part", job["path"])

    return run


if __name__ == "__main__":
    answer(prepared)
