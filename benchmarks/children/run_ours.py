"""A whole run of `tf-adapt train`, with the states of frozen layers kept or computed again."""

import tempfile
from pathlib import Path

import numpy as np
from answering import Work, answer

from tf_adapt.config import config_from
from tf_adapt.training import train

LIMIT_MB = {True: 100_000, False: 0}


def prepared(job: dict) -> Work:
    """`kept`: whether states are kept; `config`: the rest of the run's config."""

    def run(turn):
        content = job["config"] | {"features": {"limit_mb": LIMIT_MB[job["kept"]]}}
        if turn is None:
            short = {"data": {"train_examples": 64}, "training": {"epochs": 1}}
            content |= {name: content[name] | change for name, change in short.items()}
        with tempfile.TemporaryDirectory() as folder:
            return train(config_from(content, "benchmarks"), Path(folder) / "run")

    def outputs(metrics):
        return {"loss": np.array(metrics["dev"]["loss"])}

    def note(metrics):
        return f"dev {metrics['metric']} {metrics['dev'][metrics['metric']]:.3f}"

    return Work(run, outputs, note=note)


if __name__ == "__main__":
    answer(prepared)
