"""Run by test_slice_heads.py: heads of slices trained on one and on two logical CPUs, as JSON.

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
from tf_adapt.models.slice_heads import SliceHeads

TEXTS = ["the", "what is it", "who", "where is the man", "is"]
# In the first batch only the first device has members of the first slice; of the last nobody has.
TARGETS = [[0, 1], [1, -1], [-1, -1], [-1, 0], [-1, 1]]


def trained(module, strategy=None):
    keras.utils.set_random_seed(0)
    task = ta.Task("classification", labels=["no", "yes"])
    with strategy.scope() if strategy else tf.init_scope():
        encoder = ta.HubEncoder(module)
        auxiliaries = [SliceHeads(["first", "second"])]
        model = ta.build_model(task, encoder, head_dropout=0.0, auxiliaries=auxiliaries)
        for layer in model._flatten_layers():
            if isinstance(layer, keras.layers.Dropout):
                layer.rate = 0.0
        model.compile(keras.optimizers.SGD(0.1), task.loss, metrics=task.metrics, jit_compile=False)
    records = list(zip(TEXTS, ["no", "yes", "yes", "no", "yes"], strict=True))
    prepared = replace(prepare(records, task, encoder), slice_targets=tf.constant(TARGETS))
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
    json.dump({"one": trained(sys.argv[1]), "two": trained(sys.argv[1], two)}, sys.stdout)


if __name__ == "__main__":
    main()
