"""Run by test_multi_task_model.py: two tasks on one and on two logical CPUs, as JSON.

A process of its own, because logical devices can only be made before TensorFlow starts. The
argument is the folder of a BERT module.
"""

import json
import sys

import keras
import numpy as np
import tensorflow as tf

import tf_adapt as ta

TASKS = {
    "question": ta.Task("classification", labels=["no", "yes"]),
    "name": ta.Task("tagging", labels=["O", "B-X", "I-X"]),
}
# Batches of 3 and of 1: shares 2 + 1 and 1 + 0; the words of the shares differ too.
TRAIN = {
    "question": [("the who", "yes"), ("what", "no"), ("who is the", "no"), ("where", "yes")],
    "name": [
        (["the", "who", "is"], ["B-X", "I-X", "O"]),
        (["what"], ["O"]),
        (["is", "the"], ["O", "B-X"]),
        (["where"], ["B-X"]),
    ],
}


def run(module: str, strategy=None) -> dict:
    keras.utils.set_random_seed(0)
    with strategy.scope() if strategy else tf.init_scope():
        encoder = ta.HubEncoder(module)
        model = ta.build_multi_task_model(
            TASKS, encoder, adaptation="fine_tuning", loss_weights={"name": 2.0}
        )
        for layer in model._flatten_layers():
            if isinstance(layer, keras.layers.Dropout):
                layer.rate = 0.0
        sgd = keras.optimizers.SGD(0.05, global_clipnorm=0.5)
        model.compile(ta.DiscriminativeOptimizer(sgd, encoder))
    start = flat(model)
    # Each epoch its own dataset: under a strategy Keras starts more passes than it finishes.
    for epoch in range(2):
        batches = ta.multi_task_batches(
            TRAIN, TASKS, encoder, 3, "uniform", steps_per_epoch=6, first_epoch=epoch, seed=2
        )
        steps = list(batches)
        spec = batches.element_spec
        same = tf.data.Dataset.from_generator(lambda: iter(steps), output_signature=spec)  # noqa: B023
        same = same.apply(tf.data.experimental.assert_cardinality(6))
        history = model.fit(same, verbose=0).history
    every = ta.multi_task_batches(TRAIN, TASKS, encoder, 3, shuffle=False)
    return {
        "start": start,
        "weights": flat(model),
        "fit": {name: found[0] for name, found in history.items()},
        "evaluate": model.evaluate(every, verbose=0, return_dict=True),
    }


def flat(model) -> list[float]:
    return np.concatenate([weight.numpy().ravel() for weight in model.weights]).tolist()


def main():
    tf.config.set_logical_device_configuration(
        tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2
    )
    two = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    assert two.num_replicas_in_sync == 2
    json.dump({"one": run(sys.argv[1]), "two": run(sys.argv[1], two)}, sys.stdout)


if __name__ == "__main__":
    main()
