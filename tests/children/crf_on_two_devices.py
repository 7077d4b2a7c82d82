"""Run by test_crf_in_models.py: a CRF trained on one and on two logical CPU devices, as JSON.

A process of its own, because logical devices can only be made before TensorFlow starts.
"""

import json
import sys

import keras
import numpy as np
import tensorflow as tf

from tf_adapt.layers.crf import CRF


def batches():
    """Twice the same seven sentences, shared as 4 + 3; the last one is nothing but padding."""
    random = np.random.default_rng(4)
    logits = random.normal(size=(7, 5, 3)).astype("float32")
    targets = random.integers(0, 3, size=(7, 5)).astype("int32")
    targets[1, 1:] = targets[4, 3:] = targets[6] = -1
    return tf.data.Dataset.from_tensor_slices((logits, targets)).batch(7).repeat(2)


def run(strategy, reduction):
    with strategy.scope():
        keras.utils.set_random_seed(0)
        crf = CRF(3, reduction=reduction)
        crf.build()
        # Built where a weight's value is its `tf.Variable`, one for each device.
        optimizer = tf.optimizers.SGD(0.3)
        optimizer.build(crf.trainable_weights)

    @tf.function(reduce_retracing=True)
    def step(logits, targets):
        def on_one_device(logits, targets):
            with tf.GradientTape() as tape:
                loss = crf.loss(targets, logits)
            gradients = tape.gradient(loss, [weight.value for weight in crf.trainable_weights])
            optimizer.apply(gradients, crf.trainable_weights)
            return loss, crf.decode(logits, targets >= 0)[0]

        return strategy.run(on_one_device, (logits, targets))

    losses, tags = [], []
    for logits, targets in strategy.experimental_distribute_dataset(batches()):
        loss, decoded = step(logits, targets)
        losses.append(float(strategy.reduce("SUM", loss, axis=None)))
        parts = strategy.experimental_local_results(decoded)
        tags += np.concatenate([part.numpy() for part in parts]).tolist()
    weights = np.concatenate([weight.numpy().ravel() for weight in crf.weights]).tolist()
    return {"weights": weights, "loss": losses, "tags": tags}


def main():
    tf.config.set_logical_device_configuration(
        tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2
    )
    two = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    assert two.num_replicas_in_sync == 2
    results = {
        reduction: {"one": run(tf.distribute.get_strategy(), reduction), "two": run(two, reduction)}
        for reduction in ("mean", "sum")
    }
    json.dump(results, sys.stdout)


if __name__ == "__main__":
    main()
