"""Run by test_distribution.py: what one and two logical CPU devices compute, as JSON.

A process of its own, because logical devices can only be made before TensorFlow starts.
"""

import json
import sys

import keras
import numpy as np
import tensorflow as tf

from tf_adapt.heads.concat_pooling import ConcatPoolingHead
from tf_adapt.tasks.losses import CrossEntropy, SquaredError
from tf_adapt.tasks.metrics import MatthewsCorrelation, PearsonCorrelation, SpanF1

TAGS = ["O", "B-A", "I-A", "B-B", "I-B"]


def data(kind):
    """Ten examples of three words; the last one is nothing but padding."""
    random = np.random.default_rng(4)
    inputs = random.normal(size=(10, 3, 4)).astype("float32")
    targets = {
        "classification": random.integers(0, 3, size=10).astype("int32"),
        "regression": random.normal(size=10).astype("float32"),
        "tagging": random.integers(0, 5, size=(10, 3)).astype("int32"),
        "concat_pooling": random.integers(0, 3, size=10).astype("int32"),
    }[kind]
    if kind == "tagging":
        targets[1, 1:] = targets[2, 2:] = targets[9] = -1
    return inputs, targets


def model_of(kind, seed=0):
    keras.utils.set_random_seed(seed)
    words = keras.Input((3, 4))
    whole = keras.layers.Flatten()(words)
    encoded = [{"layers": [words], "mask": words[..., 0] < 1.0}]
    no_chance = {"dropout": 0.0, "hidden_dropout": 0.0}
    outputs = {
        "concat_pooling": lambda: ConcatPoolingHead(3, 5, **no_chance)(encoded),
        "classification": lambda: keras.layers.Dense(3)(whole),
        "regression": lambda: keras.layers.Dense(1)(whole)[:, 0],
        "tagging": lambda: keras.layers.Dense(5)(words),
    }[kind]()
    return keras.Model(words, outputs)


def compiled(kind, jit_compile=False):
    model = model_of(kind)
    loss = SquaredError() if kind == "regression" else CrossEntropy()
    metrics = {
        "concat_pooling": lambda: ["accuracy"],
        "classification": lambda: ["accuracy", MatthewsCorrelation(3)],
        "regression": lambda: [PearsonCorrelation()],
        "tagging": lambda: [SpanF1(TAGS, "IOB2"), SpanF1(TAGS, "IOB2", strict=True)],
    }[kind]()
    rate = 0.05 if kind == "regression" else 0.5
    model.compile(keras.optimizers.SGD(rate), loss, metrics=metrics, jit_compile=jit_compile)
    return model


def run(kind, examples, batch_size, strategy=None, jit_compile=False):
    """Weights after one epoch of plain `fit`, its logs, and those of `evaluate`.

    With two replicas each takes batch_size / 2 examples of a batch, the second whatever is left.
    """
    inputs, targets = data(kind)
    # The last examples, so that an all-padding one can be the only one of a replica.
    part = slice(10 - examples, 10)
    batches = tf.data.Dataset.from_tensor_slices((inputs[part], targets[part])).batch(batch_size)
    scope = strategy.scope() if strategy else tf.init_scope()
    with scope:
        model = compiled(kind, jit_compile)
    history = model.fit(batches, epochs=1, verbose=0, shuffle=False).history
    scores = model.evaluate(batches, verbose=0, return_dict=True)
    return {
        "weights": np.concatenate([w.numpy().ravel() for w in model.weights]).tolist(),
        "fit": {name: values[0] for name, values in history.items()},
        "evaluate": scores,
    }


def main():
    tf.config.set_logical_device_configuration(
        tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2
    )
    two = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    assert two.num_replicas_in_sync == 2
    results = {}
    for kind in ("concat_pooling", "classification", "regression", "tagging"):
        # (examples, batch size): shares 3 + 3, 3 + 1; four times 1 + 1, 1 + 0; 5 + 5;
        # 2 + 2, 2 + 2, 2 + 0. Equal ones first: Keras builds a plain model from their mean.
        for examples, batch_size in ((10, 6), (9, 2), (10, 10), (10, 4)):
            one = run(kind, examples, batch_size)
            both = run(kind, examples, batch_size, two)
            results[f"{kind} {examples} by {batch_size}"] = {"one": one, "two": both}
        plain, compiled_run = run(kind, 10, 4), run(kind, 10, 4, jit_compile=True)
        results[f"{kind} compiled"] = {"one": plain, "two": compiled_run}
    json.dump(results, sys.stdout)


if __name__ == "__main__":
    main()
