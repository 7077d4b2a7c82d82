"""Run by test_teacher.py: a student of a teacher on one and on two logical CPUs, as JSON.

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
from tf_adapt.data.formats import TaggedSentence
from tf_adapt.models.teaching import Teaching

TEXTS = ["the", "what is it", "who", "where is the man", "is"]
TASKS = {
    "classification": ta.Task("classification", labels=["no", "yes"]),
    "regression": ta.Task("regression"),
    "tagging": ta.Task("tagging", labels=["O", "B-A", "I-A"]),
}
# Of the five only two have labels; a device of the second batch has none, or nothing at all.
LABELLED = [1.0, 0.0, 1.0, 0.0, 0.0]


def records(kind):
    if kind == "tagging":
        return [TaggedSentence(text.split(), ["O"] * len(text.split())) for text in TEXTS]
    labels = ["no", "yes", "yes", "no", "no"] if kind == "classification" else [1, 2, 0.5, 3, 0]
    return list(zip(TEXTS, labels, strict=True))


def trained(kind, module, strategy=None):
    """The weights after an epoch in batches of four, its loss, and that of an evaluation."""
    keras.utils.set_random_seed(0)
    task = TASKS[kind]
    with strategy.scope() if strategy else tf.init_scope():
        encoder = ta.HubEncoder(module)
        model = ta.build_model(task, encoder, head_dropout=0.0)
        for layer in model._flatten_layers():
            if isinstance(layer, keras.layers.Dropout):
                layer.rate = 0.0
        model.teaching = Teaching(task, 2.0, 0.4)
        model.compile(keras.optimizers.SGD(0.1), task.loss, metrics=task.metrics, jit_compile=False)
    prepared = prepare(records(kind), task, encoder)
    random = np.random.default_rng(2)
    shape = {"tagging": (sum(len(text.split()) for text in TEXTS), 3), "regression": (5,)}
    answers = tf.constant(random.normal(0, 2, shape.get(kind, (5, 2))).astype("float32"))
    if kind == "tagging":
        answers = tf.RaggedTensor.from_row_splits(answers, prepared.segments[0].row_splits)
    prepared = replace(prepared, teacher=answers, labelled=tf.constant(LABELLED))
    batches = epoch_batches(prepared, 4, seed=0, epoch=0, shuffle=False)
    history = model.fit(batches, verbose=0).history
    return {
        "loss": history["loss"][0],
        "weights": np.concatenate([w.numpy().ravel() for w in model.trainable_weights]).tolist(),
    }


def main():
    tf.config.set_logical_device_configuration(
        tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2
    )
    two = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    assert two.num_replicas_in_sync == 2
    found = {
        kind: {"one": trained(kind, sys.argv[1]), "two": trained(kind, sys.argv[1], two)}
        for kind in TASKS
    }
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
