"""Plain `fit` and `evaluate` on two devices, or compiled, give what one device gives.

Shares of the devices are unequal, and empty, on purpose: a mean of means would differ. As a program
it prints what one and two logical CPUs compute, which can only be made before TensorFlow starts.
"""

import json
import subprocess
import sys

import keras
import numpy as np
import pytest
import tensorflow as tf

from tf_adapt.heads.concat_pooling import ConcatPoolingHead
from tf_adapt.tasks.class_metrics import MatthewsCorrelation
from tf_adapt.tasks.losses import CrossEntropy, SquaredError
from tf_adapt.tasks.metrics import PearsonCorrelation
from tf_adapt.tasks.span_f1 import SpanF1

KINDS = ("concat_pooling", "classification", "regression", "tagging")
COMPILED = ("concat_pooling", "tagging")
TAGS = ["O", "B-A", "I-A", "B-B", "I-B"]
# Examples and batch size: shares 3 + 3, 3 + 1; four times 1 + 1, 1 + 0. Equal ones first: Keras
# builds a plain model from their mean.
SIZES = {"10 by 6": (10, 6), "9 by 2": (9, 2)}


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


def compiled(kind, jit_compile):
    keras.utils.set_random_seed(0)
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
    model = keras.Model(words, outputs)
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
    with strategy.scope() if strategy else tf.init_scope():
        model = compiled(kind, jit_compile)
    history = model.fit(batches, epochs=1, verbose=0, shuffle=False).history
    return {
        "weights": np.concatenate([w.numpy().ravel() for w in model.weights]).tolist(),
        "fit": {name: values[0] for name, values in history.items()},
        "evaluate": model.evaluate(batches, verbose=0, return_dict=True),
    }


def main() -> None:
    tf.config.set_logical_device_configuration(
        tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2
    )
    two = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    assert two.num_replicas_in_sync == 2
    found = {}
    for kind in KINDS:
        for name, size in SIZES.items():
            found[f"{kind} {name}"] = [run(kind, *size), run(kind, *size, two)]
        ways = (False, True) if kind in COMPILED else (False,)
        found[f"{kind} compiled"] = [run(kind, 10, 4, jit_compile=way) for way in ways]
    json.dump(found, sys.stdout)


@pytest.fixture(scope="module")
def results() -> dict:
    done = subprocess.run([sys.executable, __file__], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


@pytest.mark.slow
@pytest.mark.parametrize(
    "case",
    [f"{kind} {size}" for kind in KINDS for size in SIZES]
    + [f"{kind} compiled" for kind in COMPILED],
)
def test_weights_loss_and_metrics_are_equal(results, case):
    one, two = results[case]
    np.testing.assert_allclose(two["weights"], one["weights"], atol=1e-6)
    for phase in ("fit", "evaluate"):
        assert set(one[phase]) == set(two[phase])
        for name, value in one[phase].items():
            assert np.isfinite(value), name
            assert two[phase][name] == pytest.approx(value, abs=2e-6), name


@pytest.mark.slow
def test_the_cases_are_not_trivial(results):
    assert results["classification compiled"][0]["evaluate"]["matthews"] > 0
    assert results["regression compiled"][0]["evaluate"]["pearson"] < -0.1
    tagging = results["tagging compiled"][0]["evaluate"]
    assert 0 < tagging["strict_span_f1"] != tagging["span_f1"] > 0


if __name__ == "__main__":
    main()
