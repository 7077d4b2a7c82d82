"""Run by test_consistency.py: consistency training on one and on two logical CPUs, as JSON.

A process of its own, because logical devices can only be made before TensorFlow starts. The
argument is the folder of a BERT module without dropout.
"""

import json
import sys

import keras
import numpy as np
import tensorflow as tf

import tf_adapt as ta
from tf_adapt.data.consistency_batches import epoch_with_unlabelled, prepared_unlabelled
from tf_adapt.data.prepare import prepare

TASK = ta.Task("classification", labels=["no", "yes"])
# Five examples in batches of four: the second batch leaves one device without any.
RECORDS = [
    ("the", "no"),
    ("what is it", "yes"),
    ("who", "yes"),
    ("where is the man", "no"),
    ("is", "no"),
]
MORE = ["who is the man", "the man", "is it", "what a day it is", "a b", "the man is who"]


def trained(perturbation, module, strategy=None):
    """The weights after an epoch, its losses and the share of confident texts."""
    keras.utils.set_random_seed(0)
    with strategy.scope() if strategy else tf.init_scope():
        encoder = ta.HubEncoder(module)
        objective = ta.consistency_objective(
            TASK, encoder, perturbation, 0.7, confidence=0.7, masked=0.4, epsilon=0.5
        )
        loss = ta.AuxiliaryLoss(objective, 0.8)
        model = ta.build_model(TASK, encoder, head_dropout=0.0, auxiliaries=[loss])
        random = np.random.default_rng(6)
        for weight in model.head.trainable_weights:
            weight.assign(random.normal(0, 1, weight.shape))
        model.signal_annealing = ta.SignalAnnealing(TASK, "linear", 3)
        model.compile(keras.optimizers.SGD(0.1), TASK.loss, metrics=TASK.metrics, jit_compile=False)
    train = prepare(RECORDS, TASK, encoder)
    more = prepared_unlabelled(MORE, TASK, encoder, rate=0.6 if perturbation == "words" else None)
    history = model.fit(epoch_with_unlabelled(train, more, 4, 0, 0), verbose=0).history
    weights = np.concatenate([w.numpy().ravel() for w in model.trainable_weights])
    return {name: values[0] for name, values in history.items()} | {"weights": weights.tolist()}


def main():
    tf.config.set_logical_device_configuration(
        tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2
    )
    two = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    assert two.num_replicas_in_sync == 2
    module = sys.argv[1]
    found = {
        one: {"one": trained(one, module), "two": trained(one, module, two)}
        for one in ("words", "adversarial")
    }
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
