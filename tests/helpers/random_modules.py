"""Modules of random weights that run natively: their SavedModel holds no program."""

from pathlib import Path

import numpy as np
import tensorflow as tf

from hub_modules.manifest import write_manifest


def write_random_module(folder: Path, kind: str, encoder, config: dict) -> None:
    """Writes manifest and weights; the vocabulary of a BERT is there already."""
    encoder.build()
    random = np.random.default_rng(5)
    weights = {
        name: variable.numpy() + random.normal(0, 0.05, variable.shape).astype("float32")
        for name, variable in encoder.weights_by_name().items()
    }
    holder = tf.Module()
    holder.stored = [tf.Variable(value, name=name) for name, value in weights.items()]
    tf.saved_model.save(holder, str(folder / "encoder"))
    groups = [name for name, _ in encoder.layer_groups]
    shapes = {name: list(value.shape) for name, value in weights.items()}
    contract = {"kind": kind, "config": config, "lower_case": True}
    write_manifest(folder, contract | {"groups": groups, "weights": shapes})
