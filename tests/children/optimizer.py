"""Run by test_optimizers_in_models.py: what one and two logical CPU devices compute, as JSON.

A process of its own, because logical devices can only be made before TensorFlow starts.
"""

import contextlib
import json
import sys
from types import SimpleNamespace

import keras
import numpy as np
import tensorflow as tf

from tf_adapt.adaptation.discriminative import DiscriminativeOptimizer
from tf_adapt.errors import ConfigError

# Shrinks to the head, then grows past where it began.
PHASES = [["layer_1", "head"], ["head"], ["layer_0", "layer_1", "head"]]
CASES = {
    "decay": {"inner": lambda: keras.optimizers.AdamW(1e-2, weight_decay=0.1)},
    "schedule": {
        "inner": lambda: keras.optimizers.SGD(
            keras.optimizers.schedules.PolynomialDecay(0.1, 20), momentum=0.9
        )
    },
    "average": {"inner": lambda: keras.optimizers.Adam(1e-2, use_ema=True, ema_momentum=0.5)},
    "loss scaled": {"inner": lambda: keras.optimizers.Adam(1e-2), "loss_scale": 16.0},
}


def run(inner, strategy=None, loss_scale=None):
    """Weights at the end, what moved in each phase, and the rates at the end."""
    keras.utils.set_random_seed(0)
    random = np.random.default_rng(3)
    inputs = random.normal(size=(8, 4)).astype("float32")
    targets = random.normal(size=(8, 1)).astype("float32")
    with strategy.scope() if strategy else contextlib.nullcontext():
        names = PHASES[-1]
        layers = [keras.layers.Dense(3, "tanh", name=name) for name in names[:-1]]
        head = keras.layers.Dense(1, name="head")
        model = keras.Sequential([keras.Input((4,)), *layers, head])
        groups = [(layer.name, layer.weights) for layer in layers]
        encoder = SimpleNamespace(layer_groups=groups, adaptable_groups=names[:-1])
        wrapper = optimizer = DiscriminativeOptimizer(inner(), encoder, decay=0.5)
        if loss_scale:
            optimizer = keras.optimizers.LossScaleOptimizer(wrapper, initial_scale=loss_scale)
        model.compile(optimizer, "mse")
        optimizer.build(model.trainable_weights)
    batches = tf.data.Dataset.from_tensor_slices((inputs, targets)).batch(4)
    moved = []
    for phase in PHASES:
        for layer in model.layers:
            layer.trainable = layer.name in phase
        model.make_train_function(force=True)
        before = [weight.numpy() for weight in model.weights]
        model.fit(batches, epochs=2, verbose=0, shuffle=False)
        changed = [np.any(b != w.numpy()) for b, w in zip(before, model.weights, strict=True)]
        moved.append(
            [w.path.split("/", 1)[1] for w, c in zip(model.weights, changed, strict=True) if c]
        )
    return {
        "weights": np.concatenate([w.numpy().ravel() for w in model.weights]).tolist(),
        "moved": moved,
        "rates": wrapper.rates(),
    }


def refusal(strategy, **options) -> str:
    """The error where Keras itself would fail in the middle of a step."""
    encoder = SimpleNamespace(layer_groups=[], adaptable_groups=[])
    with strategy.scope():
        try:
            DiscriminativeOptimizer(keras.optimizers.Adam(**options), encoder)
        except ConfigError as error:
            return str(error)
    return ""


def main():
    tf.config.set_logical_device_configuration(
        tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2
    )
    two = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    assert two.num_replicas_in_sync == 2
    results = {
        name: {"one": run(**case), "two": run(**case, strategy=two)} for name, case in CASES.items()
    }
    results["refused"] = [
        refusal(two, gradient_accumulation_steps=2),
        refusal(two, use_ema=True, ema_overwrite_frequency=2),
    ]
    json.dump(results, sys.stdout)


if __name__ == "__main__":
    main()
