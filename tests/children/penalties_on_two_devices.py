"""Run by test_penalties.py: training with L2-SP and EWC on one and on two logical CPUs, as JSON.

A process of its own, because logical devices can only be made before TensorFlow starts. The
argument is the folder of a BERT module.
"""

import json
import sys

import keras
import numpy as np
import tensorflow as tf

import tf_adapt as ta
from hub_modules.native.bert import BertEncoder
from tf_adapt.adaptation.penalties import ewc, l2_sp
from tf_adapt.encoder.starting_point import StartingPoint, pretrained_weights
from tf_adapt.tasks.losses import CrossEntropy

ALPHA, BETA, FACTOR, RATE = 0.3, 0.07, 2.5, 0.05
TEXTS = [("the", "yes"), ("what", "no"), ("who", "no"), ("where", "yes"), ("is", "yes")]
TASK = ta.Task("classification", labels=["no", "yes"])

TINY = {
    "vocabulary_size": 11,
    "width": 8,
    "num_layers": 1,
    "num_heads": 2,
    "intermediate_width": 12,
    "max_positions": 7,
}


class Decoder(keras.layers.Layer):
    """A head whose outputs are a dict, and which has its own loss, as a CRF."""

    def __init__(self):
        super().__init__(name="head")
        self.dense = keras.layers.Dense(2)

    def call(self, encoded, inputs=None, training=None):
        logits = self.dense(encoded[0]["pooled"])
        return {"logits": logits, "tags": tf.argmax(logits, axis=-1)}

    def loss(self, targets, outputs, sample_weight=None):
        return CrossEntropy()(targets, outputs["logits"], sample_weight)


def plain_model():
    encoder = BertEncoder(**TINY)
    names = ("input_word_ids", "input_mask", "input_type_ids")
    inputs = {name: keras.Input((None,), dtype="int32", name=name) for name in names}
    return keras.Model(inputs, keras.layers.Dense(2)(encoder(inputs)["pooled"])), encoder


def plain_batches():
    ids = np.array([[1, 2, 2], [5, 3, 9], [4, 4, 4], [7, 1, 0], [8, 0, 0]], "int32")
    inputs = {"input_word_ids": ids, "input_mask": np.sign(ids), "input_type_ids": 0 * ids}
    return tf.data.Dataset.from_tensor_slices((inputs, np.array([0, 1, 1, 0, 1]))).batch(4)


def case(kind, module):
    """A model without dropout, its encoder, and five examples in batches of four."""
    keras.utils.set_random_seed(0)
    if kind == "plain":
        model, encoder = plain_model()
        batches = plain_batches()
    else:
        encoder = ta.HubEncoder(module)
        model = ta.build_model(TASK, encoder, "default" if kind == "ours" else Decoder())
        batches = ta.batches(TEXTS, TASK, encoder, batch_size=4, shuffle=False)
    for layer in model._flatten_layers():
        if isinstance(layer, keras.layers.Dropout):
            layer.rate = 0.0
    loss = None if kind == "decodes" else CrossEntropy()
    model.compile(keras.optimizers.SGD(RATE), loss, jit_compile=False)
    return model, encoder, batches


def expected_value(model, encoder, anchors, fisher):
    names = {id(weight): name for name, weight in pretrained_weights(encoder).items()}
    value = 0.0
    for weight in model.trainable_weights:
        w, name = weight.numpy().astype("float64"), names.get(id(weight))
        if name is None:
            value += BETA / 2 * np.sum(w**2)
        else:
            value += np.sum((ALPHA + FACTOR * fisher[name]) * (w - anchors[name]) ** 2) / 2
    return value


def run(kind, module, strategy):
    random = np.random.default_rng(5)
    with strategy.scope():
        model, encoder, batches = case(kind, module)
        known = pretrained_weights(encoder)
        fisher = {name: random.gamma(1.0, 1.0, w.shape) for name, w in known.items()}
        anchors = {name: weight.numpy().astype("float64") for name, weight in known.items()}
        start = StartingPoint(encoder)
        for weight in model.weights:
            weight.assign(weight.numpy() + random.normal(0, 0.2, weight.shape))
    without = model.evaluate(batches, verbose=0)
    # Outside of the scope, as a user may do it.
    l2_sp(model, encoder, ALPHA, BETA, start)
    ewc(model, encoder, fisher, FACTOR, start)
    value = expected_value(model, encoder, anchors, fisher)
    evaluated = model.evaluate(batches, verbose=0)
    fitted = model.fit(batches, verbose=0, shuffle=False).history["loss"][0]
    return {
        "value": value,
        "evaluate_without": without,
        "evaluate": evaluated,
        "fit": fitted,
        "weights": np.concatenate([w.numpy().ravel() for w in model.weights]).tolist(),
        "distances": start.distances(),
    }


def main():
    tf.config.set_logical_device_configuration(
        tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2
    )
    two = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    assert two.num_replicas_in_sync == 2
    results = {
        kind: {
            "one": run(kind, sys.argv[1], tf.distribute.get_strategy()),
            "two": run(kind, sys.argv[1], two),
        }
        for kind in ("ours", "decodes", "plain")
    }
    json.dump(results, sys.stdout)


if __name__ == "__main__":
    main()
