"""A BERT that ships as HuggingFace's format has it."""

import json
from pathlib import Path

from answering import Work, answer

import hub_modules
import tf_adapt as ta
from hub_modules.sources import ModuleSource
from hub_modules.sources.huggingface import write

PRETRAINED = Path(hub_modules.__file__).parent / "pretrained"


def prepared(job: dict) -> Work:
    """`module`, a name → the folder `path`."""

    def run(turn):
        folder = PRETRAINED / job["module"]
        manifest = json.loads((folder / "manifest.json").read_text("utf-8"))
        encoder = ta.HubEncoder(job["module"], trainable=False).encoder
        weights = {name: one.numpy() for name, one in encoder.weights_by_name().items()}
        words = (folder / "vocab.txt").read_text("utf-8").split("\n")[:-1]
        source = ModuleSource("bert", manifest["config"], weights, words, manifest["lower_case"])
        write(source, job["path"])

    return Work(run, lambda result: {})


if __name__ == "__main__":
    answer(prepared)
