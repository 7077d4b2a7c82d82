"""Epochs of a head on an encoder of which all, or all but the top layer, is frozen."""

import json
import tempfile
from pathlib import Path

import keras
import numpy as np
from answering import Work, answer

import tf_adapt as ta
from tf_adapt.config.training_sections import FeaturesConfig
from tf_adapt.data.batches import batches_from, prepare
from tf_adapt.encoder.cached_activations import KeptStates
from tf_adapt.encoder.feature_cache import with_features

DEFAULTS = FeaturesConfig()
LIMITS = {"limit_mb": DEFAULTS.limit_mb, "disk_limit_mb": DEFAULTS.disk_limit_mb}


def prepared(job: dict) -> Work:
    """`kept`: whether what is frozen is computed once, which is part of the time, and kept within
    the default limits in memory or on disk; `top`: whether the top layer is trained."""
    task = ta.Task("classification", labels=["no", "yes"])
    encoder = ta.HubEncoder(job["module"], trainable=job["top"])
    if job["top"]:
        encoder.set_trainable_groups([encoder.layer_names[-1], "pooler"])
    linear = job["head"] == "linear"
    given = {"head_dropout": 0.0, "head_scaled": False} if linear else {"head_units": job["units"]}
    model = ta.build_model(task, encoder, job["head"], **given)
    optimizer = keras.optimizers.AdamW(job["rate"], weight_decay=0.0, epsilon=1e-8)
    model.compile(optimizer, task.loss, jit_compile=False)
    texts = [(text, task.labels[label]) for text, label in json.loads(_read(job["texts"]))]
    first = prepare(texts[:64], task, encoder)
    model(next(iter(batches_from(first, 32, shuffle=False)))[0])
    if linear:
        with np.load(job["weights"]) as weights:
            model.head.dense.kernel.assign(weights["kernel"])
            model.head.dense.bias.assign(weights["bias"])
    model.optimizer.build(model.trainable_variables)
    changing = [*model.trainable_variables, *model.optimizer.variables]
    start = [variable.numpy() for variable in changing]

    def run(turn):
        for variable, value in zip(changing, start, strict=True):
            variable.assign(value)
        given = prepare(texts[:64] if turn is None else texts, task, encoder)
        with tempfile.TemporaryDirectory() as folder:
            ready = kept(job, model, given, Path(folder)) if job["kept"] else given
            dataset = batches_from(ready, 32, shuffle=False)
            epochs = 1 if turn is None else job["epochs"]
            return model.fit(dataset, epochs=epochs, verbose=0).history["loss"][-1]

    return Work(run, lambda loss: {"loss": np.array(loss)}, amount=len(texts))


def kept(job: dict, model, given, folder: Path):
    """The data with what is frozen, as a run of `tf-adapt train` keeps it."""
    if not job["top"]:
        return with_features(
            given, model.encoder, **LIMITS, head_inputs=model.head.head_inputs, own_folder=folder
        )
    states = KeptStates(model.encoder, **LIMITS, folder=folder)
    below = model.encoder.layer_names[-2]
    return states.data("train", given, lambda room: [below] if room else [], 0)


def _read(path: str) -> str:
    return Path(path).read_text("utf-8")


if __name__ == "__main__":
    answer(prepared)
