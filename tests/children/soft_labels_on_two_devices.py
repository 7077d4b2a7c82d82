"""Run by test_weak.py: training on probabilities of labels on one and on two logical CPUs, as JSON.

A process of its own, because logical devices can only be made before TensorFlow starts. The
argument is the folder of a BERT module.
"""

import json
import sys
from dataclasses import replace

import keras
import numpy as np
import tensorflow as tf

import tf_adapt as ta
from tf_adapt.data.batches import epoch_batches, prepare

# The second device has two of the first batch, and nothing of the last.
TEXTS = ["the", "what is it", "who", "where is the man", "is"]
POSTERIORS = [[0.5, 0.5], [0.9, 0.1], [0.2, 0.8], [1.0, 0.0], [0.35, 0.65]]


def trained(module, soft=True, strategy=None):
    keras.utils.set_random_seed(0)
    task = ta.Task("classification", labels=["no", "yes"])
    with strategy.scope() if strategy else tf.init_scope():
        encoder = ta.HubEncoder(module)
        model = ta.build_model(task, encoder, head_dropout=0.0)
        ta.l2_sp(model, encoder)
        for layer in model._flatten_layers():
            if isinstance(layer, keras.layers.Dropout):
                layer.rate = 0.0
        model.compile(keras.optimizers.SGD(0.1), task.loss, metrics=task.metrics, jit_compile=False)
    labels = [task.labels[int(np.argmax(row))] for row in POSTERIORS]
    prepared = prepare(list(zip(TEXTS, labels, strict=True)), task, encoder)
    if soft:
        prepared = replace(prepared, soft_labels=tf.constant(POSTERIORS))
    batches = epoch_batches(prepared, 4, seed=0, epoch=0, shuffle=False)
    history = model.fit(batches, verbose=0).history
    weights = np.concatenate([w.numpy().ravel() for w in model.trainable_weights])
    return {"loss": history["loss"][0], "weights": weights.tolist()}


def main():
    tf.config.set_logical_device_configuration(
        tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2
    )
    two = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    assert two.num_replicas_in_sync == 2
    module = sys.argv[1]
    found = {
        "one": trained(module),
        "two": trained(module, strategy=two),
        "of_hard_labels": trained(module, soft=False),
    }
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
